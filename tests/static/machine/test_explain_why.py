"""`verifygate explain --why FILE:LINE`: the window into the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main

PROGRAM = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, batch):
        return self.model(batch)


def build(width):
    name = "half" if args.fp16 else "full"
    size = width * 2
    return name, size


name, size = build(4)
print(name, size, unheard_of)
"""


def why(
    where: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: str = PROGRAM,
) -> list[str]:
    (folder / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(["explain", "--why", where]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            18,
            ["reached from train.py", "  called at train.py:22", "  size: 8", "  width: 4", "  autocast region: none"],
        ),
        (17, ["  name: 'half' if args.fp16", "    or 'full' if not (args.fp16)", "  gradient mode: on"]),
        (5, ["  args: argparse.Namespace made at train.py:5"]),
        (17, ["  args.fp16: the option args.fp16, default False (train.py:4)"]),
        (23, ["not followed: `unheard_of` is not seen to be bound"]),
        (13, ["reached from Trainer.step of train.py, by itself: no program here calls it, as far as is followed"]),
        (13, ["  batch: the parameter batch (train.py:12)", "  self: Trainer that nothing here makes"]),
    ],
)
def test_a_line_is_explained(
    line: int,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = why(f"train.py:{line}", tmp_path, monkeypatch, capsys)
    assert found[0] == f"train.py:{line}"
    assert set(expected) <= set(found)


BLOCKS = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--amp", default="fp16")
args = parser.parse_args()
region = {
    "bf16": lambda: torch.autocast("cuda", dtype=torch.bfloat16),
    "fp16": lambda: torch.autocast("cuda", dtype=torch.float16),
}[args.amp]


def scaled(value, cfg=None):
    result = value * 2
    if args.amp == "fp16":
        result = value
    else:
        result = -value
    return result


def pairs(values):
    for value in values:
        print(value)
        yield value


def unused(cfg, lr=0.1):
    for half in pairs([cfg.half, lr]):
        print(half)
    with region():
        print(cfg)
    print(lr)


for each in pairs([1, 2]):
    with region():
        print(region, each)
    scaled(3)
    scaled(3)
    scaled(3)
    scaled(3)
    scaled(4)
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            38,
            [
                "reached from train.py",
                "  each: 1",
                "    or 2",
                "  region: the function <lambda> (train.py:8)",
                "    or the function <lambda> (train.py:9)",
                "  autocast region: cuda bfloat16 (train.py:37)",
                "  gradient mode: on",
                "",
                "reached from train.py",
                "  each: 1",
                "    or 2",
                "  region: the function <lambda> (train.py:8)",
                "    or the function <lambda> (train.py:9)",
                "  autocast region: cuda float16 (train.py:37)",
                "  gradient mode: on",
            ],
            id="each region is opened at the line of its `with`, whatever ran in it before",
        ),
        pytest.param(
            14,
            [
                "reached from train.py",
                "  called at train.py:39",
                "  called at train.py:40",
                "  called at train.py:41",
                "  more chains of calls: 1",
                "  result: 6",
                "  value: 3",
                "  autocast region: none",
                "  gradient mode: on",
                "",
                "reached from train.py",
                "  called at train.py:43",
            ],
            id="states that differ in the calls alone are one",
        ),
        pytest.param(18, ["  branch decided: args.amp == 'fp16': does not hold"], id="which way a branch went"),
        pytest.param(16, ["  branch decided: args.amp == 'fp16': holds"], id="and the other one"),
        pytest.param(
            25,
            ["reached from train.py", "  called at train.py:36"],
            id="a generator goes on from the line of its loop",
        ),
        pytest.param(
            30,
            [
                "reached from unused of train.py, by itself: no program here calls it",
                "  half: cfg.half, from a parameter (train.py:28)",
                "    or the parameter lr, default 0.1 (train.py:28)",
                "  autocast region: none",
            ],
            id="nobody calls it, and it calls others",
        ),
    ],
)
def test_states_are_told_apart_by_what_differs(
    line: int,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = "\n".join(why(f"train.py:{line}", tmp_path, monkeypatch, capsys, BLOCKS))
    assert "\n".join(expected) in found
    assert "train.py:0" not in found


def test_a_line_that_no_branch_leads_to_is_not_that_of_an_uncalled_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here a program calls the function and does not reach the line, for all that is known."""
    program = "from unknown import flag\n\n\ndef f(a):\n    if a:\n        print(a)\n\n\nf(0)\n"
    found = why("train.py:6", tmp_path, monkeypatch, capsys, program)
    assert "reached from f of train.py, by itself: no program here reaches the line" in found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--why", "train.py"], "is no line of a file"),
        (["--why", "train.py:x"], "is no line of a file"),
        (["--why", "other.py:3"], "no such file or folder"),
        (["--why", "train.py:99"], "nothing stands in this line"),
        (["--why", "train.py:6"], "nothing stands in this line"),
        (["--why", "broken.py:1"], "cannot be parsed"),
        (["--why", "train.py:5", "AMP201"], "explains a line and no rule"),
        ([], "no rule is named"),
    ],
)
def test_what_cannot_be_explained_is_one_line_and_exit_code_2(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *arguments]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1
    assert words in err

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


def why(where: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(["explain", "--why", where]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (18, ["reached from train.py", "  called at train.py:22", "  size: 8", "  width: 4", "  region: none"]),
        (17, ["  name: 'half' if args.fp16", "    or 'full' if not (args.fp16)", "  gradients: on"]),
        (5, ["  args: argparse.Namespace made at train.py:5"]),
        (17, ["  args.fp16: the option args.fp16, default False (train.py:4)"]),
        (23, ["not followed: `unheard_of` is not seen to be bound"]),
        (13, ["reached from Trainer.step of train.py, by itself", "  batch: the option batch (train.py:12)"]),
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

"""Every operator finds its places, breaks one thing at a time, and what it makes is Python."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import pytest
from mutation_sample import ACCUMULATING, TRAIN

import verifygate
from verifygate.config.settings import StaticSettings
from verifygate.mutation import OPERATORS, Move, mutants_of
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse
from verifygate.static.registry import load_rules

NOTICED = (
    "drop-unscale", "clip-then-unscale", "nan-to-num", "value-clip", "double-unscale", "unscaled-backward",
    "drop-scale-result", "direct-step", "double-step", "drop-update", "update-before-step",
    "update-per-backward", "clip-after-step", "drop-zero-grad", "zero-before-step", "closure", "clip-nothing",
    "scaler-per-window", "scaler-not-loaded", "scaler-from-position", "backward-in-autocast",
    "step-in-autocast", "autocast-not-entered", "autocast-around-loop", "half-model",
)  # fmt: skip
"""What the static rules must see in a plain loop; runs and tests are there for the rest."""


def moves_in(*texts: str) -> tuple[Sources, list[Move]]:
    sources = Sources([SourceFile(f"part{number}.py", text.encode()) for number, text in enumerate(texts)])
    return sources, mutants_of(sources, analyse(sources, StaticSettings()).constructs)


SOURCES, MOVES = moves_in(TRAIN, ACCUMULATING)


def test_there_are_enough_operators_and_each_breaks_a_rule_that_exists():
    assert len(OPERATORS) >= 20
    assert len({operator.name for operator in OPERATORS}) == len(OPERATORS)
    assert {operator.rule for operator in OPERATORS} <= set(load_rules())


@pytest.mark.parametrize("name", [operator.name for operator in OPERATORS])
def test_an_operator_finds_something_to_break(name: str):
    found = [move for move in MOVES if move.operator.name == name]

    assert found
    for move in found:
        file = SOURCES.get(move.path)
        assert file is not None
        ast.parse(move.data)
        assert move.data != file.data
        assert not move.same_code


@pytest.mark.parametrize("name", NOTICED)
def test_the_static_rules_notice(name: str):
    """The program is right; what is new behind a move was brought by it."""
    before = {finding.fingerprint for finding in analyse(SOURCES, StaticSettings()).findings}
    moves = [move for move in MOVES if move.operator.name == name and move.path == "part0.py"]

    assert moves
    for move in moves:
        after = analyse(move.sources(SOURCES), StaticSettings()).findings
        assert [finding.rule for finding in after if finding.fingerprint not in before]


def changed(name: str) -> list[str]:
    """The lines that an operator takes out of the first program, and those that it puts in."""
    move = next(move for move in MOVES if move.operator.name == name and move.path == "part0.py")
    lines = difflib.unified_diff(TRAIN.split("\n"), move.data.decode().split("\n"), n=0, lineterm="")
    return [f"{line[0]} {line[1:].strip()}" for line in lines if not line.startswith(("---", "+++", "@@"))]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("drop-unscale", ["- scaler.unscale_(optimizer)", "+ pass"]),
        ("direct-step", ["- scaler.step(optimizer)", "+ optimizer.step()"]),
        ("unscaled-backward", ["- scaler.scale(loss).backward()", "+ loss.backward()"]),
        ("scaler-not-loaded", ['- scaler.load_state_dict(state["scaler"])', "+ pass"]),
        (
            "clip-after-step",
            [
                "- norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
                '+ norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))',
                "+ nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
            ],
        ),
    ],
)
def test_a_move_changes_what_it_says_and_nothing_else(name: str, lines: list[str]):
    assert changed(name) == lines


def test_tests_and_foreign_files_are_left_alone():
    sources = Sources(
        [SourceFile("tests/test_train.py", TRAIN.encode()), SourceFile("data.py", b"def load():\n    return 3\n")]
    )

    assert mutants_of(sources, analyse(sources, StaticSettings()).constructs) == []


def test_a_move_that_changes_nothing_is_told():
    """A scaler that is switched off already is switched off once more: the same program."""
    text = 'import torch\n\nscaler = torch.amp.GradScaler("cpu", enabled=False)\n'
    _, moves = moves_in(text)

    assert [move.same_code for move in moves if move.operator.name == "scaler-off"] == [True]


def test_the_page_lists_every_move():
    page = (Path(verifygate.__file__).parent / "docs" / "mutation.md").read_text(encoding="utf-8")
    rows = [f"| `{each.name}` | {each.rule} | {each.title} |" for each in OPERATORS]

    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_the_scale_is_the_first_argument_of_the_old_scaler():
    old = TRAIN.replace("torch.amp.GradScaler(", "torch.cuda.amp.GradScaler(")
    assert old != TRAIN

    _, moves = moves_in(old)

    assert not [move for move in moves if move.operator.name == "scaler-from-position"]


def test_the_old_autocast_begins_with_its_switch():
    old = TRAIN.replace(
        'torch.autocast("cpu", dtype=torch.float16, enabled=use_amp)', "torch.cuda.amp.autocast(use_amp, torch.float16)"
    )
    assert old != TRAIN

    _, moves = moves_in(old)

    off = [move.data.decode() for move in moves if move.operator.name == "autocast-off"]
    assert ["torch.cuda.amp.autocast(dtype=torch.float16, enabled=False)" in text for text in off].count(True) == 1
    assert all("autocast(use_amp" in move.data.decode() for move in moves if move.operator.name == "wrong-device")


def moves_of(name: str, text: str) -> list[str]:
    _, moves = moves_in(text)
    return [move.data.decode() for move in moves if move.operator.name == name]


def test_a_scaler_is_not_switched_off_where_nothing_needs_it():
    assert moves_of("scaler-off", TRAIN)
    assert not moves_of("scaler-off", TRAIN.replace("float16", "bfloat16"))


def test_a_scaler_is_not_switched_on_where_its_switch_is_asked_before_scaling():
    line = "            scaler.scale(loss).backward()\n"
    assert line in TRAIN
    guarded = TRAIN.replace(line, "            if use_amp:\n    " + line)

    assert moves_of("scaler-always-on", TRAIN)
    assert not moves_of("scaler-always-on", guarded)


def test_a_device_that_is_worked_out_becomes_none_that_it_may_be():
    worked_out = TRAIN.replace('autocast("cpu"', "autocast(inputs.device.type")
    assert worked_out != TRAIN

    assert any('autocast("cuda", dtype' in text for text in moves_of("wrong-device", TRAIN))
    assert all('autocast("xpu", dtype' in text for text in moves_of("wrong-device", worked_out))


def test_a_load_goes_with_the_question_for_it():
    line = '    scaler.load_state_dict(state["scaler"])\n'
    assert line in TRAIN
    tried = f'        try:\n        {line}        except KeyError:\n            print("none")\n'
    asked = f'    if "scaler" in state:\n{tried}'

    (text,) = moves_of("scaler-not-loaded", TRAIN.replace(line, asked))
    assert '"scaler" in state' not in text


def test_a_mutant_keeps_the_encoding_and_the_line_ends_of_its_file():
    """Else it differs in every line, or is no Python at all: then its run fails, and nobody has noticed the mutant."""
    whole = f"# coding: latin-1\n# größer\n{TRAIN}".replace("\n", "\r\n").encode("latin-1")
    sources = Sources([SourceFile("train.py", whole)])

    moves = mutants_of(sources, analyse(sources, StaticSettings()).constructs)

    assert moves
    for move in moves:
        assert move.data.startswith("# coding: latin-1\r\n# größer\r\n".encode("latin-1"))
        assert move.data.count(b"\n") == move.data.count(b"\r\n")

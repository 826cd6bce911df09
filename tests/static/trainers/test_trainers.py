"""The shapes of public trainers are right as they are, and each call of the protocol that is taken out is found."""

from __future__ import annotations

import pytest
from shapes import SHAPES

from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Certainty, Severity
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

CALL = "  # call"
RULES = RuleSelection(select=("AMP2",))


def told(text: str) -> dict[str, bool]:
    """The rules that are told, and whether one of their findings is certain; lesser ones are left out."""
    result = analyse(Sources([SourceFile("train.py", text.encode())]), RULES)
    assert not [each for each in result.not_followed if each.whole]
    found: dict[str, bool] = {}
    for each in result.findings:
        if each.severity in (Severity.CRITICAL, Severity.HIGH):
            found[each.rule] = found.get(each.rule, False) or each.certainty is Certainty.CERTAIN
    return found


def without(text: str, number: int) -> str:
    """The program without the call on a line: `pass` stands there."""
    lines = text.splitlines(keepends=True)
    line = lines[number]
    lines[number] = line[: len(line) - len(line.lstrip())] + "pass\n"
    return "".join(lines)


def taken_out():
    for name, (text, takes) in SHAPES.items():
        numbers = [number for number, line in enumerate(text.splitlines()) if line.endswith(CALL)]
        for number, rules in zip(numbers, takes, strict=True):
            yield pytest.param(text, number, rules, id=f"{name}-{text.splitlines()[number].strip()[: -len(CALL)]}")


def test_there_are_ten():
    assert len(SHAPES) == 10


@pytest.mark.parametrize("text", [text for text, _ in SHAPES.values()], ids=SHAPES)
def test_the_trainer_is_right(text):
    assert not told(text)


@pytest.mark.parametrize(("text", "number", "rules"), list(taken_out()))
def test_a_call_that_is_taken_out_is_found(text, number, rules):
    found = told(without(text, number))
    assert any(found.get(rule) for rule in rules) or not rules, found

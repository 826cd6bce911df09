"""Predicates in normal form: conditions that hold together are equal, and others are not."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.conditions.normal_form import expand, fact_of
from verifygate.static.conditions.predicates import OneOf, Predicate, outcome

PROGRAM = """
class Trainer:
    def __init__(self, args):
        self.args = args
        self.fp16 = args.fp16

    def uses_amp(self):
        return self.args.fp16

    def f(self, args, scaler, mode, n, i, cuda):
        use_amp = cuda and args.fp16
        alias = args
        twice = args.a == 1
        twice = args.b == 1
        pass
"""


def fact(text: str, analysis: Analysis) -> tuple[Predicate, bool]:
    function = analysis.modules[0].functions["Trainer.f"]
    frame = analysis.evaluator.root_frame(function)
    return fact_of(ast.parse(text, mode="eval").body, frame, analysis.roles)


@pytest.mark.parametrize(
    ("one", "other", "negated"),
    [
        ("args.fp16", "alias.fp16", False),
        ("args.fp16 == True", "args.fp16", False),
        ("args.fp16 is False", "args.fp16", True),
        ("scaler is not None", "scaler", False),
        ("scaler is None", "scaler", True),
        ("mode == 'a'", "mode != 'a'", True),
        ("mode in names", "mode not in names", True),
        ("i % n == 0", "i % n", True),
        ("i % n == 0", "i % n != 0", True),
        ("(i + 1) % n == 0", "i % n == n - 1", False),
        ("i % n == -1 + n", "(i + 1) % n == 0", None),
        ("args.fp16", "args.bf16", None),
        ("mode == 'a'", "mode == 'b'", None),
        ("i % n == 0", "(i + 1) % n == 0", None),
        ("i % n == 0", "n % i == 0", None),
    ],
)
def test_two_conditions(one: str, other: str, negated: bool | None, analysed: Callable[[str], Analysis]) -> None:
    """`negated`: whether the second holds just where the first does not; None where they are two predicates."""
    analysis = analysed(PROGRAM)
    (first, holds), (second, is_held) = fact(one, analysis), fact(other, analysis)
    if negated is None:
        assert first != second
    else:
        assert first == second
        assert (holds is not is_held) is negated


def test_predicates_of_one_window_are_one_choice(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    (opens, _), (closes, _) = fact("i % n == 0", analysis), fact("(i + 1) % n == 0", analysis)
    assert opens.choice == closes.choice
    assert (opens != closes) is True
    assert fact("i % 7 == 0", analysis)[0].choice != opens.choice


def test_a_call_that_may_change_is_opaque(analysed: Callable[[str], Analysis]) -> None:
    analysis = analysed(PROGRAM)
    assert fact("should_stop()", analysis)[0].opaque
    assert fact("should_stop()", analysis)[0] != fact("(should_stop())", analysis)[0]  # at another column
    assert not fact("isinstance(mode, str)", analysis)[0].opaque
    assert not fact("self.uses_amp()", analysis)[0].opaque


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use_amp", "cuda and args.fp16"),
        ("twice", "twice"),  # bound twice: now and then may differ
        ("self.uses_amp()", "self.args.fp16"),
        ("args.fp16", "args.fp16"),
    ],
)
def test_a_name_stands_for_the_condition_that_it_was_bound_to(
    text: str, expected: str, analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM)
    frame = analysis.evaluator.root_frame(analysis.modules[0].functions["Trainer.f"])
    expanded, _ = expand(ast.parse(text, mode="eval").body, frame, analysis.roles)
    assert ast.unparse(expanded) == expected


@pytest.mark.parametrize(
    ("text", "constants"),
    [
        ("mode == 'a'", {"'a'"}),
        ("'a' == mode", {"'a'"}),
        ("mode in ('a', 'b')", {"'a'", "'b'"}),
        ("mode in names", None),
    ],
)
def test_a_comparison_with_constants(
    text: str, constants: set[str] | None, analysed: Callable[[str], Analysis]
) -> None:
    among = fact(text, analysed(PROGRAM))[0].among
    assert (among.constants if isinstance(among, OneOf) else among) == constants


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        ("mode == 0", "mode > 0", False),
        ("mode > 0", "mode == 0", False),
        ("mode > 1", "mode >= 1", True),
        ("mode >= 1", "mode > 1", None),
        ("mode < 2", "mode >= 2", False),
        ("not mode >= 2", "3 < mode", False),
        ("mode in (3, 4)", "2 < mode", True),
        ("mode in (1, 4)", "2 < mode", None),
        ("mode >= 0.5", "mode == -1", False),
        ("mode <= -1", "mode == 0", False),
        ("mode != 0", "mode > 0", None),
        ("mode < names", "names > mode", True),
        ("mode <= names", "names < mode", False),
        ("mode > names", "mode >= names", None),
        ("mode > 1", "names > 1", None),
        ("mode == 'a'", "mode > 1", None),
    ],
)
def test_one_comparison_decides_another(
    known: str, asked: str, expected: bool | None, analysed: Callable[[str], Analysis]
) -> None:
    analysis = analysed(PROGRAM)
    atom, holds = fact(known.removeprefix("not "), analysis)
    other, wanted = fact(asked, analysis)
    found = outcome(other, (atom, holds is not known.startswith("not ")))
    assert (None if found is None else found is wanted) == expected

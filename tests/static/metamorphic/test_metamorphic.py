"""The protocol rules judge what a loop does, not how it is written: rewriting it must not change the verdict.

Each loop below loops/ marks the statements that are at fault with `# expect: CODE`; every transformation carries the
marks along, and the analysis has to report just the marked statements, all of them certain. Where it does not, the
combination stands in KNOWN_GAPS, and has to leave it as soon as the verdict is right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from rewriting import Loop, Program
from transformations import TRANSFORMATIONS, renamed

from verifygate.config.settings import StaticSettings
from verifygate.model import Certainty, Severity
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

LOOPS = {file.stem: file for file in sorted((Path(__file__).parent / "loops").glob("*.py"))}
MARK = re.compile(r"#.*\bexpect: (?P<code>[A-Z]+\d+)")
SETTINGS = StaticSettings(select=("AMP", "KEY"), ignore=("AMP501",))  # old names are what one transformation is about

NOT_APPLICABLE = {
    "forward_in_helper": {
        "bad_amp101_backward_in_region",
        "bad_amp102_step_in_region",
        "bad_amp104_region_over_steps",
    },
    "tail_in_helper": {"bad_amp104_region_over_steps"},
    "early_stop": {"good_accumulation_by_guard", "good_skipped_batch"},
    "scaled_loss_in_variable": {"good_bfloat16"},
    "verbs_in_variables": {"good_bfloat16"},
    "twin_without_scaler": {"good_bfloat16"},
    "zeroed_behind_forward": {
        "bad_amp101_backward_in_region",
        "bad_amp102_step_in_region",
        "bad_amp104_region_over_steps",
        "bad_amp201_in_accumulation",
        "bad_amp203_unscale_each_micro_batch",
        "bad_amp212_never_zeroed",
        "good_accumulation",
        "good_accumulation_by_guard",
    },
}
"""Loops that do not have what a transformation rewrites."""

RENAMED_TOO = (
    "state_in_dataclass",
    "state_in_namespace",
    "state_in_dict",
    "setup_in_factory",
    "in_class_by_methods",
    "in_derived_class",
    "over_modules",
    "twin_without_scaler",
)
"""Transformations behind which only a value, and no telling name, says what is a scaler or an optimizer."""


@dataclass(frozen=True)
class Gap:
    """Combinations with a wrong verdict, and what is wrong with it."""

    what_happens: str
    transformations: Collection[str]
    loops: Collection[str]


KNOWN_GAPS: tuple[Gap, ...] = (
    Gap(
        "AMP203 is silent where `or number + 1 == len(batches)` closes the last window of a `while`",
        ("batches_by_while",),
        ("bad_amp203_unscale_each_micro_batch",),
    ),
)
"""A gap that is found stands here until it is closed."""


def pairs() -> Iterator[tuple[str, str]]:
    """Every loop with every transformation that applies to it, `+renamed` after those that are renamed too.

    A loop that is misjudged as it is written comes only as written: rewriting it would say nothing.
    """
    for loop in LOOPS:
        for name in ("as_written",) if gap(loop, "as_written") else TRANSFORMATIONS:
            if loop not in NOT_APPLICABLE.get(name, ()):
                yield loop, name
                if name in RENAMED_TOO:
                    yield loop, f"{name}+renamed"


def gap(loop: str, name: str) -> str:
    """What is known to go wrong with the pair; empty where nothing is."""
    found = [each.what_happens for each in KNOWN_GAPS if loop in each.loops and name in each.transformations]
    return "; ".join(found)


def cases() -> Iterator[object]:
    for loop, name in pairs():
        reason = gap(loop, name)
        marks = [pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)] if reason else []
        yield pytest.param(loop, name, marks=marks, id=f"{loop}-{name}")


@cache
def parsed(loop: str) -> Loop:
    return Loop.parse(LOOPS[loop].read_text(encoding="utf-8"))


@cache
def transformed(loop: str, name: str) -> Program | None:
    name, _, then = name.partition("+")
    made = TRANSFORMATIONS[name](parsed(loop))
    return renamed(made, parsed(loop)) if made is not None and then else made


def verdict(made: Program) -> list[tuple[str, str, int, str]]:
    """Rule, place and certainty of each finding; how sure it is of a lesser one may depend on the writing."""
    outcome = analyse(Sources([SourceFile(path, text.encode()) for path, text in made.items()]), SETTINGS)
    assert not outcome.not_analysed
    grave = (Severity.CRITICAL, Severity.HIGH)
    return sorted(
        (each.rule, each.path, each.line, (each.certainty if each.severity in grave else Certainty.CERTAIN).value)
        for each in outcome.findings
    )


def marked(made: Program) -> list[tuple[str, str, int, str]]:
    return sorted(
        (mark["code"], path, number, Certainty.CERTAIN.value)
        for path, text in made.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := MARK.search(line))
    )


@pytest.mark.parametrize(("loop", "name"), list(cases()))
def test_verdict_does_not_depend_on_the_writing(loop: str, name: str):
    """The marked statements are reported, certain where they are grave, and nothing else is."""
    made = transformed(loop, name)
    assert made is not None

    assert verdict(made) == marked(made), "\n".join(made.values())


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformation_writes_other_programs_that_are_still_python(name: str):
    """Most loops change, all files compile, no mark is lost, and none applies where it is said not to.

    What is wrong in any precision is marked in a twin as well.
    """
    changed = 0
    for loop, file in LOOPS.items():
        made = transformed(loop, name)
        assert (made is None) == (loop in NOT_APPLICABLE.get(name, ())), loop
        if made is None:
            continue
        for path, text in made.items():
            compile(text, path, "exec")
        marks = MARK.findall(file.read_text(encoding="utf-8"))
        twins = marks if name.startswith("twin") and loop == "bad_amp212_never_zeroed" else []
        assert sorted(MARK.findall("\n".join(made.values()))) == sorted([*marks, *twins]), loop
        changed += made != TRANSFORMATIONS["as_written"](parsed(loop))

    assert changed >= 20 or name == "as_written"


def test_gaps_name_what_exists():
    """A gap that names no loop or no transformation of ours would hide nothing, and say something wrong."""
    known = {f"{name}{suffix}" for name in TRANSFORMATIONS for suffix in ("", "+renamed")}
    for each in KNOWN_GAPS:
        assert set(each.loops) <= set(LOOPS)
        assert set(each.transformations) <= known

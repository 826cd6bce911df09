"""What was not followed is neither there nor missing: requirement, rule and architecture are NOT MEASURED."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from requirement_world import LOOP, PROTOCOL, World, at

from verifygate.model import ConstructKind, NotFollowed, Status

Writer = Callable[..., Path]
GAP = NotFollowed(
    path=LOOP, line=15, reason="`helper.step(optimizer)`: what `helper` is", construct=ConstructKind.SCALER_STEP
)
LACKING = (ConstructKind.SCALER_STEP, ConstructKind.GRAD_SCALER)


@pytest.fixture
def world() -> World:
    """A loop of which nobody knows whether it steps through a scaler."""
    made = World()
    made.constructs = [at(kind, line) for line, kind in enumerate(PROTOCOL, 10) if kind not in LACKING]
    made.static = {"not_followed": (GAP,)}
    return made


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("construct: scaler-step", "no `scaler-step` found; not followed: train.py:15 (`helper.step(optimizer)`"),
        ("construct: grad-scaler", "no `grad-scaler` found; not followed: train.py:15"),
        ("construct: scaler-step, not: true", "no `scaler-step` found; not followed: train.py:15"),
        ("rule: AMP201", "AMP201 ran over 1 file: no finding, and it did not follow: train.py:15"),
    ],
)
def test_a_query_names_the_place(world: World, written: Writer, query: str, said: str):
    found = world.trace(written(f"- {{{query}}}")).checks["R"]

    assert (found.status, said in found.actual) == (Status.NOT_MEASURED, True), found.actual
    assert ("train.py", 15) in [(each.path, each.line) for each in found.evidence]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("construct: update", Status.PASS),  # it was found elsewhere
        ("construct: zero-grad", Status.FAIL),  # nothing there may be it
        ("construct: scaler-step, in: other.py", Status.NOT_MEASURED),  # no file fits
        ("rule: AMP101", Status.PASS),  # a rule about regions asks for no scaler
    ],
)
def test_what_has_nothing_to_do_with_it_is_answered(world: World, written: Writer, query: str, status: Status):
    assert world.trace(written(f"- {{{query}}}")).checks["R"].status is status


def test_the_architecture_names_the_place_too(world: World):
    traced = world.trace()

    check = traced.checks["architecture"]
    assert check.status is Status.NOT_MEASURED
    assert "train.py:15" in check.actual
    assert traced.details.architecture is not None
    lines = [each for each in traced.details.architecture.actual.inner if each.missing]
    assert [(each.text, each.line) for each in lines][-1] == (
        "steps through the scaler? not followed: `helper.step(optimizer)`: what `helper` is", 15
    )  # fmt: skip

"""`run:` asks what recorded runs did; a run that shows nothing of it leaves the question open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requirement_world import World, check

from verifygate.model import (
    Check,
    EntryPrecision,
    EvidenceClass,
    LowPrecision,
    OwnEvents,
    ScaleChange,
    Status,
    StepOrder,
    TraceSummary,
)

Writer = Callable[..., Path]
RIGHT = ("scale", "backward", "unscale", "clip", "step", "update")
ORDER = "- run: {order: [scale, backward, unscale, clip, step, update]}"
COUNTS = (("autocast", 4), ("get_scale", 4), ("optimizer", 1), ("scale", 4))
PLAIN = ("backward", "optimizer-step")
PLAIN_COUNTS = (("backward", 4), ("optimizer", 1), ("optimizer.step", 4))


def steps(*orders: tuple[str, ...], **own: Any) -> TraceSummary:
    """A run whose steps were taken in these orders."""
    taken = tuple(StepOrder(events=order, times=2, path="train.py", line=15) for order in orders)
    events = OwnEvents(**({"counts": COUNTS, "regions": ("cpu bfloat16",), "orders": taken} | own))
    return TraceSummary(events=40, steps=4, own=events)


def asked(world: World, spec: Path) -> Check:
    return world.trace(spec).checks["R"]


def without(name: str) -> tuple[str, ...]:
    return tuple(event for event in RIGHT if event != name)


def test_the_right_order_passes_by_executed_evidence(world: World, written: Writer) -> None:
    world.run = steps(RIGHT, ("backward", "clip", "optimizer-step"))
    found = asked(world, written(ORDER))
    assert (found.status, found.actual) == (Status.PASS, "1 of 1 queries PASS")
    assert [(item.kind, item.path, item.line) for item in found.evidence] == [(EvidenceClass.EXECUTED, "train.py", 15)]


@pytest.mark.parametrize("gone", RIGHT)
def test_a_step_without_one_of_the_events_fails(world: World, written: Writer, gone: str) -> None:
    """A line of the loop that is deleted is missing from every window; without the backward there is no window."""
    world.run = steps(without(gone))
    found = asked(world, written(ORDER))
    assert found.status is Status.FAIL
    assert gone in found.actual or "no step" in found.actual


@pytest.mark.parametrize(("one", "other"), [("unscale", "clip"), ("scale", "backward"), ("step", "update")])
def test_a_line_that_moved_fails_and_says_which_came_first(world: World, written: Writer, one: str, other: str) -> None:
    turned = tuple({one: other, other: one}.get(event, event) for event in RIGHT)
    world.run = steps(RIGHT, turned)
    found = asked(world, written(ORDER))
    assert found.status is Status.FAIL
    assert f"`{other}` came before `{one}`" in found.actual
    assert (found.evidence[0].path, found.evidence[0].line) == ("train.py", 15)


def test_a_step_that_lacks_one_sometimes_is_partial(world: World, written: Writer) -> None:
    world.run = steps(RIGHT, without("clip"))
    assert asked(world, written(ORDER)).status is Status.PARTIAL


def test_a_window_whose_gradients_came_from_before_is_no_evidence(world: World, written: Writer) -> None:
    """A test that puts gradients there by hand shows nothing of the order."""
    world.run = steps(RIGHT, ("unscale", "step", "update"))
    assert asked(world, written(ORDER)).status is Status.PASS
    world.run = steps(("unscale", "step", "update"), counts=())
    assert asked(world, written(ORDER)).status is Status.NOT_MEASURED


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("{order: [autocast, backward]}", Status.PARTIAL),
        ("{order: [backward, optimizer-step]}", Status.PASS),
        ("{order: [autocast, backward], with_scaler: true}", Status.PASS),
        ("{order: [backward, step], with_scaler: false}", Status.FAIL),
    ],
)
def test_steps_with_and_without_a_scaler_are_told_apart(
    world: World, written: Writer, query: str, status: Status
) -> None:
    """An order is about those that its events belong to, unless it says so itself."""
    plain = ("backward", "optimizer-step")
    world.run = steps(("autocast", *RIGHT), ("autocast", *plain), plain)
    assert asked(world, written(f"- run: {query}")).status is status


def test_scaling_without_a_step_fails(world: World, written: Writer) -> None:
    world.run = steps()
    assert asked(world, written(ORDER)).status is Status.FAIL


@pytest.mark.parametrize("run", [None, TraceSummary(), TraceSummary(events=3)])
def test_a_run_without_a_record_is_not_measured(world: World, written: Writer, run: TraceSummary | None) -> None:
    world.run = run
    assert asked(world, written(ORDER)).status is Status.NOT_MEASURED


def test_what_only_the_emulated_run_shows_is_emulated_evidence(world: World, written: Writer) -> None:
    world.run = steps(("backward", "optimizer-step"), counts=(("backward", 1),))
    world.emulated_run = steps(RIGHT)
    found = asked(world, written(ORDER))
    assert found.status is Status.PASS
    assert found.evidence[0].kind is EvidenceClass.EMULATED


def test_what_either_run_did_wrong_counts(world: World, written: Writer) -> None:
    world.run, world.emulated_run = steps(RIGHT), steps(without("unscale"))
    assert asked(world, written(ORDER)).status is Status.FAIL


@pytest.mark.parametrize(
    ("query", "run", "status"),
    [
        ("{events: [get-scale, autocast]}", steps(RIGHT), Status.PASS),
        ("{events: [scaler-state-saved]}", steps(RIGHT), Status.FAIL),
        ("{events: [scale, step]}", steps(PLAIN, counts=PLAIN_COUNTS), Status.NOT_MEASURED),
        ("{events: [scale, zero-grad]}", steps(PLAIN, counts=PLAIN_COUNTS), Status.FAIL),
        ("{events: [scale, step]}", steps(PLAIN, counts=(*PLAIN_COUNTS, ("scale", 1))), Status.FAIL),
        ("{dtype: bfloat16}", steps(RIGHT), Status.PASS),
        ("{dtype: bfloat16, device: cpu}", steps(RIGHT), Status.PASS),
        ("{dtype: bfloat16, device: cuda}", steps(RIGHT), Status.NOT_MEASURED),
        ("{dtype: float16}", steps(RIGHT), Status.NOT_MEASURED),
        ("{parameters: float32}", steps(RIGHT), Status.PASS),
        ("{parameters: float32}", steps(RIGHT, not_float32=("SGD: 4 of 4 tensors float16",)), Status.FAIL),
        ("{parameters: float32}", steps(RIGHT, counts=()), Status.NOT_MEASURED),
    ],
)
def test_events_types_and_parameters(
    world: World, written: Writer, query: str, run: TraceSummary, status: Status
) -> None:
    world.run = run
    assert asked(world, written(f"- run: {query}")).status is status


def test_training_in_float32_alone_is_named(world: World, written: Writer) -> None:
    """As tests do on a machine without CUDA: steps were recorded, and show nothing about a scaler."""
    world.run = steps(PLAIN, counts=PLAIN_COUNTS)
    told = "no step with a live scaler of the project's own code was recorded"
    assert asked(world, written(ORDER)).actual.endswith(told)
    assert told in asked(world, written("- run: {events: [scale]}")).actual


def scales(*values: float, skipped: int = 0) -> TraceSummary:
    moves = tuple(ScaleChange(scaler=1, step=step, scale=value) for step, value in enumerate(values))
    return steps(RIGHT).model_copy(update={"scales": moves, "skipped": skipped})


@pytest.mark.parametrize(
    ("behaviour", "run", "status"),
    [
        ("halves on overflow", scales(8.0, 4.0, skipped=1), Status.PASS),
        ("halves on overflow", scales(8.0, skipped=1), Status.FAIL),
        ("halves on overflow", scales(8.0, 2.0, skipped=1), Status.PARTIAL),
        ("halves on overflow", scales(8.0, 16.0), Status.NOT_MEASURED),
        ("doubles again", scales(4.0, 8.0), Status.PASS),
        ("doubles again", scales(8.0, 4.0, skipped=1), Status.NOT_MEASURED),
    ],
)
def test_the_scale(world: World, written: Writer, behaviour: str, run: TraceSummary, status: Status) -> None:
    """A run without an overflow says nothing of what one does to the scale."""
    world.run = run
    assert asked(world, written(f"- run: {{scale: {behaviour}}}")).status is status


def test_scales_of_two_scalers_are_two_histories(world: World, written: Writer) -> None:
    moves = (ScaleChange(scaler=1, step=0, scale=8.0), ScaleChange(scaler=2, step=0, scale=4.0))
    world.run = steps(RIGHT).model_copy(update={"scales": moves, "skipped": 1})
    assert asked(world, written("- run: {scale: halves on overflow}")).status is Status.FAIL


@pytest.mark.parametrize(
    ("bound", "status"), [(">= 0.5", Status.PASS), (">= 0.9", Status.FAIL), ("<= 0.5", Status.FAIL)]
)
def test_the_share_of_low_precision(world: World, written: Writer, bound: str, status: Status) -> None:
    sample = LowPrecision(steps=1, operations=4, low_operations=3, flops=100, low_flops=75)
    world.run = steps(RIGHT).model_copy(update={"low_precision": sample})
    found = asked(world, written(f"- run: {{low_precision_share: '{bound}'}}"))
    assert found.status is status
    assert "75" not in found.actual  # measured figures stand in the trace


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (LowPrecision(steps=1, operations=4, low_operations=3, flops=100, low_flops=60), Status.PASS),
        (LowPrecision(steps=1, operations=4, low_operations=1, flops=100, low_flops=10), Status.FAIL),
        (None, Status.PARTIAL),
    ],
)
def test_every_entry_of_the_oracles_meets_the_bound(
    world: World, written: Writer, second: LowPrecision | None, status: Status
) -> None:
    """Where the oracles sampled what trains, their entries answer, each with its own class of evidence."""
    first = LowPrecision(steps=1, operations=4, low_operations=3, flops=100, low_flops=75)
    world.half_precision = (
        EntryPrecision(entry=1, emulated=False, low_precision=first),
        EntryPrecision(entry=2, emulated=True, low_precision=second, not_sampled="it was compiled"),
    )
    found = asked(world, written("- run: {low_precision_share: '>= 0.5'}"))
    assert found.status is status
    kinds = {item.kind for item in found.evidence} - {EvidenceClass.DECLARED}
    assert kinds == {EvidenceClass.EXECUTED} | ({EvidenceClass.EMULATED} if second else set())


def test_a_share_that_nobody_sampled_is_not_measured(world: World, written: Writer) -> None:
    world.run = steps(RIGHT).model_copy(update={"not_sampled": "no steps were sampled"})
    found = asked(world, written("- run: {low_precision_share: '>= 0.5'}"))
    assert (found.status, "no steps were sampled" in found.actual) == (Status.NOT_MEASURED, True)


@pytest.mark.parametrize("status", [Status.PASS, Status.FAIL, Status.NOT_MEASURED, Status.NOT_APPLICABLE])
def test_an_oracle_answers_by_its_check(world: World, written: Writer, status: Status) -> None:
    """An oracle that was not configured has not answered."""
    world.oracles = [check("execution.oracle-scale-invariance", status, kind=EvidenceClass.EXECUTED)]
    found = asked(world, written("- run: {oracle: scale-invariance}"))
    assert found.status is (Status.NOT_MEASURED if status is Status.NOT_APPLICABLE else status)
    assert ("name what trains" in found.remedy) is (status is Status.NOT_APPLICABLE)
    assert asked(world, written("- run: {oracle: nan-loss}")).status is Status.NOT_MEASURED


def test_what_a_dead_entry_could_not_be_asked_says_how_it_died(world: World, written: Writer) -> None:
    """Entries are named, so naming them is no advice."""
    died = check("execution.oracle-inf-injection", Status.FAIL, kind=EvidenceClass.EXECUTED)
    world.oracles = [died.model_copy(update={"actual": "entry 1: it raised KeyError", "remedy": "store the key"})]
    found = asked(world, written("- run: {oracle: no-cuda}"))
    said = "execution.edge-no-cuda could not be asked: entry 1: it raised KeyError"
    assert (found.status, said in found.actual, found.remedy) == (Status.NOT_MEASURED, True, "store the key")

    world.oracles.append(check("execution.edge-nan-loss", Status.PASS, kind=EvidenceClass.EXECUTED))
    assert "execution.oracle-schedule" in asked(world, written("- run: {oracle: schedule}")).actual
    assert "KeyError" not in asked(world, written("- run: {oracle: schedule}")).actual

"""Calculations are worked out again from the raw samples; quality gates carry their denominators."""

from __future__ import annotations

import math
from typing import Any

import pytest
from requirement_world import World, arm, at, check, outcome_of, speedup

from verifygate.model import Arm, ConstructKind, Measurement, Status
from verifygate.model.base import volatile_pointers
from verifygate.model.json_document import take


def calculation(world: World) -> tuple[Status, str]:
    """Status and reason of the first calculation, which is the speed-up's."""
    line = world.trace().details.calculations[0]
    return line.status, line.reason


def test_a_value_that_follows_from_its_samples_is_right(world: World) -> None:
    """The speed-up is worked out again, and the others say that they were not measured."""
    lines = world.trace().details.calculations
    assert [(line.measurement, line.status) for line in lines] == [
        ("speedup.bf16", Status.PASS),
        (None, Status.NOT_MEASURED),
        (None, Status.NOT_MEASURED),
    ]


def test_a_summary_that_disagrees_with_its_samples_fails_its_row_and_blocks(world: World) -> None:
    """A better number than the samples give is a FAIL, though the stage called it PASS."""
    world.measurements = [speedup(value=2.1)]
    traced = world.trace()
    assert calculation(world)[0] is Status.FAIL
    assert traced.statuses["R-NUMBER"] is Status.FAIL
    assert traced.checks["calculations"].status is Status.FAIL
    assert traced.checks["calculations"].required


def test_a_wrong_summary_is_wrong_even_where_nobody_judged_it(world: World) -> None:
    """Too noisy to judge is no excuse for a number that its samples do not give."""
    world.measurements = [speedup(value=2.1, status=Status.NOT_MEASURED, reason="too noisy")]
    assert world.trace().statuses["R-NUMBER"] is Status.FAIL


def test_a_check_rests_on_its_measurements_samples(world: World) -> None:
    """A check that names a wrong summary is not carried over as PASS."""
    world.measurements = [speedup(value=2.1)]
    world.checks = [check("performance.memory-reduction", measurement="speedup.bf16")]
    assert world.trace().statuses["R-CHECK"] is Status.FAIL


def test_a_summary_without_samples_is_only_declared(world: World) -> None:
    """A number that nobody can work out again proves nothing."""
    world.measurements = [speedup(arms=())]
    assert calculation(world)[0] is Status.NOT_MEASURED
    assert world.trace().statuses["R-NUMBER"] is Status.NOT_MEASURED


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_none_are_refused_first(world: World, bad: float) -> None:
    """NaN and infinity fail before anything is compared with them."""
    broken = Arm.model_construct(name="bf16", unit="s", samples=(2.0, bad), n=2)
    arms = (arm("fp32", 4.0, 4.0), broken)
    world.measurements = [speedup().model_copy(update={"arms": arms})]
    assert calculation(world) == (Status.FAIL, "a sample of bf16 is not a finite number")
    world.measurements = [speedup().model_copy(update={"value": bad})]
    assert calculation(world)[0] is Status.FAIL


def test_a_status_must_follow_from_its_value(world: World) -> None:
    """PASS beside a value that misses the target is a contradiction."""
    world.measurements = [speedup(target=">= 3")]
    assert calculation(world)[0] is Status.FAIL


def test_a_target_honestly_missed_is_a_right_calculation(world: World) -> None:
    """The arithmetic is right; the requirement fails."""
    world.measurements = [speedup(target=">= 3", status=Status.FAIL)]
    assert calculation(world)[0] is Status.PASS
    assert world.trace().statuses["R-NUMBER"] is Status.FAIL


def test_the_remedy_of_a_measurement_is_its_checks_own(world: World) -> None:
    """Where a check judged the measurement, the row says what that check says to do."""
    world.measurements = [speedup(value=None, status=Status.NOT_MEASURED, reason="no accelerator")]
    assert world.trace().checks["R-NUMBER"].remedy == "measure speedup.bf16 again: no accelerator"
    world.checks.append(check("performance.speedup", Status.NOT_MEASURED, measurement="speedup.bf16", remedy="get one"))
    assert world.trace().checks["R-NUMBER"].remedy == "get one"


def test_samples_that_are_not_there_cannot_be_counted(world: World) -> None:
    """An arm that says it has more samples than it holds fails."""
    short = arm("fp32", 4.0, 4.0).model_copy(update={"n": 3})
    world.measurements = [speedup(arms=(short, arm("bf16", 2.0, 2.0)))]
    assert calculation(world)[0] is Status.FAIL


def test_a_device_that_does_not_count_memory_measures_nothing(world: World) -> None:
    """Peaks of 0 are no saving of 0 %, and no division by zero."""
    arms = (arm("fp32", 0.0, unit="B"), arm("bf16", 0.0, unit="B"))
    world.measurements = [speedup(id="memory-reduction.bf16", value=0.0, arms=arms, target="")]
    line = world.trace().details.calculations[1]
    assert line.status is Status.NOT_MEASURED


@pytest.mark.parametrize(
    ("name", "value", "arms"),
    [
        ("memory-reduction", 0.4, (arm("fp32", 10.0, 10.0, unit="B"), arm("bf16", 6.0, 6.0, unit="B"))),
        ("accuracy-difference", -0.25, (arm("fp32", 1.0, 1.0, 1.0, 1.0), arm("bf16", 1.0, 0.0, 1.0, 1.0))),
    ],
)
def test_each_formula_knows_its_samples(world: World, name: str, value: float, arms: Any) -> None:
    """Memory and accuracy are worked out by their own formula, and another value is refused."""
    given: dict[str, Any] = {"id": f"{name}.bf16", "arms": arms, "target": "", "status": Status.NOT_APPLICABLE}
    for reported, status in ((value, Status.PASS), (value + 0.01, Status.FAIL)):
        world.measurements = [speedup(value=reported, **given)]
        lines = {line.measurement: line.status for line in world.trace().details.calculations}
        assert lines[f"{name}.bf16"] is status


def test_skipped_steps_count_against_an_arm(world: World) -> None:
    """Two rounds of two steps, half of AMP's skipped: time per effective step, not per step."""
    effective = Measurement(
        id="effective-steps.bf16", title="E", metric="effective-steps", unit="share", device="d", status=Status.FAIL,
        arms=(arm("fp32", 2.0, 2.0, unit="steps"), arm("bf16", 1.0, 1.0, unit="steps")),
    )  # fmt: skip
    arms = (arm("fp32", 4.0, 4.0, 6.0, 6.0), arm("bf16", 2.0, 2.0, 3.0, 3.0))
    world.measurements = [speedup(value=1.0, arms=arms, status=Status.FAIL), effective]
    assert calculation(world)[0] is Status.PASS


def test_a_floor_of_the_saved_memory_is_enough(world: World) -> None:
    """Where FP32 does not fit there is no value, and the lower bound alone may meet the target."""
    floor = speedup(id="speedup.bf16", value=None, low=1.6, arms=())
    world.measurements = [floor]
    assert world.trace().statuses["R-NUMBER"] is Status.PASS
    world.measurements = [floor.model_copy(update={"low": 1.4})]
    assert world.trace().statuses["R-NUMBER"] is Status.NOT_MEASURED


def test_no_measured_number_stands_in_any_text(world: World) -> None:
    """Values differ from run to run, so the same statuses give the same bytes whatever was measured."""

    def lasting() -> object:
        """The result without what differs from run to run: in a report that lies in `run`."""
        result = world.trace().result
        document = result.model_dump(mode="json")
        return document, [take(document, pointer) for pointer in volatile_pointers(result)].count(None)

    first = lasting()
    world.measurements = [speedup(value=1.75, arms=(arm("fp32", 7.0, 7.0, 7.0, 7.0), arm("bf16", 4.0, 4.0, 4.0, 4.0)))]
    assert lasting() == first


def test_gates_print_their_denominators(world: World) -> None:
    """Everything passes but two calculations that were not measured; nothing regulatory is asked for."""
    gates = world.trace().gates
    assert gates["Requirements coverage"].actual == "6 of 6 PASS (100 %)"
    assert gates["Critical requirements"].actual == "2 of 2 PASS (100 %)"
    assert gates["Calculations correct"].actual.startswith("1 of 3 PASS (33.3 %); NOT MEASURED: ")
    assert (gates["Regulatory compliance"].actual, gates["Regulatory compliance"].status) == (
        "0 of 0: nothing of this kind is asked for",
        Status.NOT_APPLICABLE,
    )
    assert gates["Data integrity"].status is Status.PASS


def test_a_partial_row_is_named_and_never_counted(world: World) -> None:
    """PARTIAL stands beside the share by name."""
    world.tests[1] = outcome_of("tests/test_loop.py::test_switch", "R-MARKED", outcome="skipped")
    assert world.trace().gates["Requirements coverage"].actual == "5 of 6 PASS (83.3 %); PARTIAL: R-MARKED"


def test_a_failed_gate_is_visible_and_does_not_block_by_itself(world: World) -> None:
    """One of two critical requirements fails, so 100 % is out of reach."""
    world.constructs = [item for item in world.constructs if item.kind is not ConstructKind.GRAD_SCALER]
    traced = world.trace()
    found = traced.checks["quality-gates"]
    assert traced.gates["Critical requirements"].status is Status.FAIL
    assert (found.status, found.required, found.weight) == (Status.FAIL, False, 0)
    assert "Critical requirements FAIL (1 of 2 PASS (50 %); FAIL: R-CODE)" in found.actual


def test_a_gate_that_open_rows_could_still_meet_is_not_measured(world: World) -> None:
    """What was not measured is neither a violation nor proof."""
    world.tests[0] = outcome_of("tests/test_loop.py::test_overflow", outcome="skipped")
    assert world.trace().gates["Edge cases handled"].status is Status.NOT_MEASURED


def test_the_architecture_lists_who_does_what(world: World) -> None:
    """Every step of the protocol with its place; one that clips must unscale."""
    traced = world.trace()
    assert "makes the GradScaler: train.py:10 train_step" in traced.details.architecture_actual
    assert len(traced.details.architecture_expected) == len(traced.details.architecture_actual)
    world.constructs = [item for item in world.constructs if item.kind is not ConstructKind.UNSCALE]
    assert world.trace().statuses["architecture"] is Status.FAIL
    world.constructs = [item for item in world.constructs if item.kind is not ConstructKind.CLIP]
    assert world.trace().statuses["architecture"] is Status.PASS


def test_delegation_beside_an_explicit_loop_is_shown(world: World) -> None:
    """The explicit loop is there; the other place is named, not hidden."""
    world.constructs.append(at(ConstructKind.DELEGATED, 42, path="other.py", text="Trainer(precision=16)"))
    found = world.trace().checks["architecture"]
    assert found.status is Status.PASS
    assert "other.py:42" in found.actual

"""What the performance stage sums up can be worked out again from the samples it reports: by other code, elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.merge.recompute import contradicted, unsupported
from verifygate.model import Measurement, Status
from verifygate.performance.comparison import ArmRecord, Comparison, Host, Plan, Round, Training
from verifygate.performance.stage import summarised
from verifygate.requirements.calculations import of_measurement

GPU = Host("Linux x86_64", "3.11", "2.13", "cuda", "Some GPU", True)
STEPS, TAKEN = 4, 7
PLAN = Plan("m:f", steps=STEPS, warmup=1, train_steps=60, seeds=(0, 1), rounds=3, rounds_max=6)


def arm(name: str, step: float, peak: int, effective: Sequence[int] = (STEPS,) * TAKEN) -> ArmRecord:
    """One round more than the last look comes to, as in a run that was stopped; no two rounds alike."""
    blocks = [
        Round(
            tuple(step * (1 + number * 0.01 + at * 0.02) for at in range(STEPS)),
            effective[number],
            peak + number,
            peak + number,
            f"round {number}",
        )
        for number in range(TAKEN)
    ]
    scores = tuple(float(item % 3 > 0) for item in range(60))
    trainings = [Training(seed, 60, 60, scores, f"seed {seed}") for seed in (0, 1)]
    return ArmRecord(name, GPU, 8, flags={"threads": "2"}, trainings=trainings, rounds=blocks)


def measurements() -> tuple[Measurement, ...]:
    """FP32 against bf16, which skips a step now and then, and TF32 beside them."""
    targets = Targets(speedup=1.2, memory_reduction=0.2, accuracy_difference=0.2)
    settings = PerformanceSettings(workload="m:f", rounds=3, steps=STEPS, targets=targets)
    half = arm("bf16", 1.0, 500, (4, 3, 4, 4, 4, 4, 4))
    return summarised(Comparison(PLAN, (arm("fp32", 2.0, 1000), half, arm("tf32", 1.5, 990))), settings).measurements


def test_every_value_follows_from_its_samples():
    """Nothing that the stage reports is contradicted by what it reports beside it, and each PASS has its samples."""
    taken = measurements()
    told = {item.id: contradicted(item, taken) or unsupported(item) for item in taken}
    assert set(told.values()) == {""}
    again = {item.id: line.recomputed for item in taken if (line := of_measurement(item, taken))}
    reported = {item.id: item.value for item in taken if item.id in again}
    assert {"speedup.bf16", "speedup.tf32", "memory-reduction.bf16", "accuracy-difference.bf16"} <= set(again)
    assert again == pytest.approx(reported)


@pytest.mark.parametrize("name", ["speedup.bf16", "memory-reduction.bf16", "accuracy-difference.bf16"])
def test_another_value_does_not(name: str):
    """A hundredth more than was measured."""
    taken = tuple(
        item.model_copy(update={"value": item.value + 0.01}) if item.id == name and item.value is not None else item
        for item in measurements()
    )
    forged = next(item for item in taken if item.id == name)
    assert contradicted(forged, taken) == "the reported value does not follow from its samples"


def test_a_speedup_whose_effective_steps_are_not_told_is_not_measured():
    """A skipped step costs time and trains nothing: without their number the value may be right or wrong."""
    taken = tuple(
        item.model_copy(update={"value": 9.0}) if item.id == "speedup.tf32" else item for item in measurements()
    )
    line = of_measurement(next(item for item in taken if item.id == "speedup.tf32"), taken)
    assert line is not None
    assert (line.status, line.reason) == (
        Status.NOT_MEASURED,
        "the report does not say how many steps of tf32 took effect",
    )

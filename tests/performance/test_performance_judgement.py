"""What arms of known quality prove about the targets, without any process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.model import Check, Measurement, StageResult, Status
from verifygate.performance.comparison import ArmRecord, Comparison, Failure, Host, Plan, Round, Training, Trouble
from verifygate.performance.stage import summarised
from verifygate.report.bench import text

CPU = Host("Linux x86_64", "3.11", "2.13", "cpu", "cpu", True)
GPU = Host("Linux x86_64", "3.11", "2.13", "cuda", "Some GPU", True)
TARGETS = Targets(speedup=1.5, memory_reduction=0.4, accuracy_difference=0.01)
SETTINGS = PerformanceSettings(workload="m:f", rounds=3, steps=4, targets=TARGETS)
PLAN = Plan("m:f", steps=4, warmup=1, train_steps=60, seeds=(0, 1, 2), rounds=3, rounds_max=3)
REPORTED = SETTINGS.model_copy(update={"targets": Targets()})


def arm(
    name: str,
    host: Host = GPU,
    step: float = 1.0,
    peak: int | None = 1000,
    scores: tuple[float, ...] = (1.0,) * 500,
    digests: Sequence[str | None] = ("a", "b", "c", "d"),
    **more: object,
) -> ArmRecord:
    """An arm that ran to its end; its steps take `step` seconds and hardly vary."""
    times = [(step * 0.99, step, step, step * (1.01 + number / 1000)) for number in range(3)]
    counted = None if host is CPU else peak
    blocks = [Round(times[index], 4, counted, counted, digests[index + 1]) for index in range(3)]
    trainings = [Training(seed, 60, 60, scores, digests[0]) for seed in PLAN.seeds]
    record = ArmRecord(name, host, 8, flags={"threads": "2"}, trainings=trainings, rounds=blocks)
    return replace(record, **more)  # type: ignore[arg-type]


def result(fp32: ArmRecord, amp: ArmRecord, settings: PerformanceSettings = SETTINGS) -> StageResult:
    return summarised(Comparison(PLAN, (fp32, amp)), settings)


def check(result: StageResult, name: str) -> Check:
    return next(check for check in result.checks if check.id == f"performance.{name}")


def measured(result: StageResult, name: str) -> Measurement:
    return next(measurement for measurement in result.measurements if measurement.id == name)


def test_a_good_amp_arm_passes_everything() -> None:
    """Twice as fast, half the memory, the same scores: every check passes, with value, interval and samples."""
    good = result(arm("fp32", step=2.0), arm("bf16", peak=500))
    assert {check.status for check in good.checks} == {Status.PASS}
    assert all(check.required for check in good.checks)
    speedup = measured(good, "speedup.bf16")
    assert speedup.value == pytest.approx(2.0)
    assert speedup.low is not None
    assert speedup.low >= 1.5
    assert [(side.name, side.n) for side in speedup.arms] == [("fp32", 12), ("bf16", 12)]
    assert measured(good, "memory-reduction.bf16").value == pytest.approx(0.5)
    assert measured(good, "throughput.bf16").value == pytest.approx(8.0, rel=0.05)


def test_a_rate_is_in_steps_where_samples_are_not_known() -> None:
    """A function or a command that is timed from outside says nothing of its batch."""
    for kind, counted in (("build", "Samples"), ("function", "Steps"), ("command", "Steps")):
        told = summarised(Comparison(replace(PLAN, kind=kind), (arm("fp32"), arm("bf16"))), SETTINGS)
        assert measured(told, "throughput.bf16").title.startswith(f"{counted} in a second")
        assert text(told).startswith("on Linux x86_64, Python 3.11, torch 2.13, ")


@pytest.mark.parametrize("told", ["losses", "scores"])
def test_an_arm_that_ignores_its_precision_shows_nothing(told: str) -> None:
    """Its speed and scores are fp32's own: as good as equal, and no evidence about AMP."""
    values = {"losses": (2.5, 1.25), "scores": (0.25, 0.5) * 250}
    trainings = [replace(each, **{told: values[told]}) for each in arm("fp32").trainings]
    same = result(arm("fp32", step=2.0, trainings=trainings), arm("bf16", peak=500, trainings=trainings))
    for name in ("speedup", "memory-reduction", "accuracy"):
        assert check(same, name).status is Status.NOT_MEASURED
        reason = measured(same, check(same, name).measurement or "").reason
        assert "bf16 computed what fp32 did, to the last bit" in reason
        assert "follow `precision`" in check(same, name).remedy
    others = [replace(each, **{told: tuple(value * 1.01 for value in values[told])}) for each in trainings]
    apart = result(arm("fp32", step=2.0, trainings=trainings), arm("bf16", peak=500, trainings=others))
    assert check(apart, "speedup").status is Status.PASS


def test_a_poor_amp_arm_fails_with_a_remedy() -> None:
    """Hardly faster, hardly smaller: both targets are missed, and the check says what to look for."""
    poor = result(arm("fp32", step=1.1), arm("bf16", peak=900))
    for name in ("speedup", "memory-reduction"):
        assert check(poor, name).status is Status.FAIL
        assert check(poor, name).remedy


def test_without_targets_numbers_are_only_reported() -> None:
    """No target, no requirement: the value stands there and the check is NOT APPLICABLE."""
    free = result(arm("fp32", step=2.0), arm("bf16"), REPORTED)
    assert measured(free, "speedup.bf16").value == pytest.approx(2.0)
    assert check(free, "speedup").status is Status.NOT_APPLICABLE
    assert [check.id for check in free.checks if check.required] == [
        "performance.same-data",
        "performance.effective-steps",
    ]


def test_a_cpu_never_proves_a_speedup() -> None:
    """On a CPU the targets stay NOT MEASURED, with the command that would measure them; the ratio is reported."""
    on_cpu = result(arm("fp32", CPU, step=9.0), arm("bf16", CPU))
    for name in ("speedup", "memory-reduction"):
        assert check(on_cpu, name).status is Status.NOT_MEASURED
        assert "verifygate bench record" in check(on_cpu, name).remedy
    assert measured(on_cpu, "speedup.bf16").value is None
    assert measured(on_cpu, "speedup-on-cpu.bf16").value == pytest.approx(9.0)
    assert measured(on_cpu, "speedup-on-cpu.bf16").status is not Status.PASS
    assert check(on_cpu, "accuracy").status is Status.PASS


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"digests": ["a", "b", "c", "x"]}, "different data"),
        ({"flags": {"threads": "1"}}, "threads"),
        ({"samples_per_step": 16}, "samples"),
    ],
)
def test_unequal_arms_are_not_compared(change: dict[str, object], told: str) -> None:
    """Arms that differ in more than precision measure nothing, and the reason says in what."""
    unequal = result(arm("fp32", step=2.0), arm("bf16", peak=500, **change))
    for name in ("speedup", "memory-reduction", "accuracy"):
        assert check(unequal, name).status is Status.NOT_MEASURED
        assert told in check(unequal, name).actual
    assert measured(unequal, "speedup.bf16").value is None


def test_other_data_fails_the_check_on_data() -> None:
    """Different digests are a failure of the comparison itself."""
    assert check(result(arm("fp32"), arm("bf16", digests=["z"] * 4)), "same-data").status is Status.FAIL


def test_no_digest_is_not_measured_and_not_required() -> None:
    """A workload without a digest proves nothing about its data, and is not blocked for it."""
    silent = check(result(arm("fp32", digests=[None] * 4), arm("bf16", digests=[None] * 4)), "same-data")
    assert (silent.status, silent.required) == (Status.NOT_MEASURED, False)
    assert "data_digest" in silent.remedy


def test_fast_because_it_did_less_is_refuted() -> None:
    """An arm that skips three steps of four looks twice as fast; a step that counts takes it longer than fp32."""
    skipping = arm("fp16")
    skipping.rounds = [replace(block, effective=1) for block in skipping.rounds]
    refuted = result(arm("fp32", step=2.0), skipping)
    assert check(refuted, "effective-steps").status is Status.FAIL
    assert check(refuted, "speedup").status is Status.FAIL
    assert measured(refuted, "speedup.fp16").value == pytest.approx(0.5)


def test_no_effective_step_at_all_measures_nothing() -> None:
    """Steps that never move the parameters have no speed."""
    stuck = arm("fp16")
    stuck.rounds = [replace(block, effective=0) for block in stuck.rounds]
    assert check(result(arm("fp32", step=2.0), stuck), "speedup").status is Status.NOT_MEASURED
    assert check(result(arm("fp32", step=2.0), stuck), "effective-steps").status is Status.FAIL
    assert check(result(stuck, arm("fp16")), "effective-steps").status is Status.NOT_MEASURED


def test_scores_that_amp_broke_fail() -> None:
    """NaN in the AMP arm alone is AMP's failure; NaN in both is no measurement. Either can be written as JSON."""
    broken = (math.nan,) * 500
    only_amp = result(arm("fp32"), arm("bf16", scores=broken))
    assert check(only_amp, "accuracy").status is Status.FAIL
    both = result(arm("fp32", scores=broken), arm("bf16", scores=broken))
    assert check(both, "accuracy").status is Status.NOT_MEASURED
    assert "NaN" not in both.model_dump_json()


def test_step_times_that_are_no_numbers_measure_nothing() -> None:
    """A NaN among the step times is refused, even where the median does not see it."""
    odd = arm("bf16")
    odd.rounds[0] = Round((1.0, 1.0, 1.0, math.nan), 4, 500)
    assert check(result(arm("fp32", step=2.0), odd), "speedup").status is Status.NOT_MEASURED


def test_a_small_evaluation_says_how_many_items_it_needs() -> None:
    """Too few items: not measured, and another measurement says how many would decide."""
    small = (1.0, 0.0) * 10
    unsure = result(arm("fp32", scores=small), arm("bf16", scores=small))
    assert check(unsure, "accuracy").status is Status.NOT_MEASURED
    assert "accuracy-items-needed.bf16" in check(unsure, "accuracy").remedy
    needed = measured(unsure, "accuracy-items-needed.bf16").value
    assert needed is not None
    assert needed > 20


def test_a_baseline_that_does_not_fit_is_a_result() -> None:
    """FP32 out of memory proves a floor of what AMP saves, and no speed-up."""
    failed = ArmRecord("fp32", GPU, failure=Failure(Trouble.MEMORY, "out of memory", "train", 1000))
    oom = result(failed, arm("bf16", peak=500))
    assert check(oom, "memory-reduction").status is Status.PASS
    assert measured(oom, "memory-reduction.bf16").low == pytest.approx(0.5)
    assert check(oom, "speedup").status is Status.NOT_MEASURED
    assert measured(oom, "speedup.bf16").value is None
    assert "batch size" in check(oom, "speedup").remedy
    assert check(result(failed, arm("bf16", peak=900)), "memory-reduction").status is Status.NOT_MEASURED


def test_an_arm_that_broke_fails_the_stage() -> None:
    """A workload that raises under AMP is a failure that no waiver covers; a process that never came up is a gap."""
    raised = arm("bf16", failure=Failure(Trouble.RAISED, "KeyError: 'loss' at train.py:7", "train"))
    assert check(result(arm("fp32"), raised), "effective-steps").status is Status.FAIL
    absent = ArmRecord("bf16", failure=Failure(Trouble.START, "no torch"))
    gone = result(ArmRecord("fp32", failure=Failure(Trouble.START, "no torch")), absent)
    assert {check.status for check in gone.checks} == {Status.NOT_MEASURED}
    assert all("no torch" in check.actual for check in gone.checks)


def test_a_comparison_of_equal_arms_is_doubted() -> None:
    """Graded scores that agree to the last bit, or parameters of another size, are named as hazards."""
    graded = tuple(item / 7 for item in range(100))
    same = result(arm("fp32", scores=graded), arm("bf16", scores=graded)).details
    shrunk = result(arm("fp32", parameter_bytes=400), arm("bf16", parameter_bytes=200)).details
    assert same is not None
    assert shrunk is not None
    assert "honour" in same.hazards[0]  # type: ignore[union-attr]
    assert "FP32" in shrunk.hazards[0]  # type: ignore[union-attr]

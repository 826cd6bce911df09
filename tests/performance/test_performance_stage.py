"""The stage on real child processes: sound workloads, broken ones, and the same report for the same behaviour."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import verifygate
from verifygate.model import Outcome, PerformanceDetails, StageResult
from verifygate.model.base import volatile_pointers
from verifygate.model.json_document import take
from verifygate.performance import measuring
from verifygate.performance.process import SOCKET_VARIABLE
from verifygate.report.bench import text

Measure = Callable[..., StageResult]
ALL = {"speedup": 1.1, "memory_reduction": 0.4, "accuracy_difference": 0.01}


def statuses(result: StageResult) -> dict[str, str]:
    return {check.id.removeprefix("performance."): str(check.status) for check in result.checks}


def reasons(result: StageResult) -> str:
    return next(check.actual for check in result.checks if check.id == "performance.effective-steps")


def test_without_a_workload_the_stage_does_not_apply(measure: Measure) -> None:
    """Nothing configured: not applicable, and the reason says how to configure it."""
    result = measure("")
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert result.reason.startswith("not configured: ")
    assert "performance.workload" in result.reason


def test_a_sound_workload_on_a_cpu(measure: Measure) -> None:
    """Data, steps and accuracy are judged on a CPU; speed and memory wait for an accelerator."""
    result = measure("workloads:sound", targets=ALL)
    assert statuses(result) == {
        "speedup": "NOT MEASURED",
        "memory-reduction": "NOT MEASURED",
        "accuracy": "PASS",
        "same-data": "PASS",
        "effective-steps": "PASS",
    }
    assert result.environment["device"] == "cpu"
    ratio = next(m for m in result.measurements if m.id == "speedup-on-cpu.bf16")
    assert [side.n for side in ratio.arms] == [6, 6]
    assert ratio.value is not None


def test_a_sound_workload_on_a_device(measure: Measure, simulated: Path) -> None:
    """With a device the speed-up is measured there and the allocator's peaks give the memory saved."""
    (simulated / "cuda").touch()
    result = measure("workloads:sound", targets=ALL)
    assert statuses(result)["memory-reduction"] == "PASS"
    by_id = {measurement.id: measurement for measurement in result.measurements}
    assert by_id["memory-reduction.bf16"].value == pytest.approx(0.5)
    assert by_id["speedup.bf16"].device == "Simulated GPU"
    assert by_id["speedup.bf16"].value is not None
    assert by_id["speedup.bf16"].value > 1
    assert by_id["peak-memory.fp32"].value == 1000


def test_a_device_measures_every_precision_it_has(measure: Measure, simulated: Path) -> None:
    """TF32 and the other half precision are measured as well, with figures and no checks; on request none is."""
    (simulated / "cuda").touch()
    result = measure("workloads:sound", targets=ALL)
    by_id = {measurement.id: measurement for measurement in result.measurements}
    for other in ("tf32", "fp16"):
        assert by_id[f"speedup.{other}"].value is not None
        assert by_id[f"speedup.{other}"].target == ""
    assert [check.measurement for check in result.checks if check.id == "performance.speedup"] == ["speedup.bf16"]
    assert by_id["memory-reduction.tf32"].value == pytest.approx(0.0)
    assert "speedup.tf32" not in {m.id for m in measure("workloads:sound", arms=[]).measurements}


def test_an_arm_without_a_target_may_fail(measure: Measure, simulated: Path) -> None:
    """fp16 raises, bf16 is judged all the same, and a hazard tells of it."""
    (simulated / "cuda").touch()
    result = measure("workloads:no_fp16", targets=ALL)
    assert statuses(result)["effective-steps"] == "PASS"
    assert result.details is not None
    assert any("fp16 was to be measured" in hazard for hazard in result.details.hazards)  # type: ignore[union-attr]


def test_an_old_device_gets_fp16(measure: Measure, simulated: Path) -> None:
    """A device without bfloat16 is measured in fp16, unless the settings say otherwise."""
    (simulated / "cuda").write_text("old")
    assert measure("workloads:sound").measurements[0].id == "speedup.fp16"
    assert measure("workloads:sound", precision="bf16").measurements[0].id == "speedup.bf16"


def test_the_same_behaviour_gives_the_same_report(measure: Measure) -> None:
    """Outside volatile fields two runs are the same bytes."""

    def fixed() -> str:
        result = measure("workloads:sound", targets=ALL)
        document = result.model_dump(mode="json")
        for pointer in volatile_pointers(result):
            take(document, pointer)
        return json.dumps(document)

    assert fixed() == fixed()


@pytest.mark.parametrize(
    ("workload", "status", "told"),
    [
        ("no_such_module:build", "NOT MEASURED", "there is no module `no_such_module`"),
        ("workloads", "NOT MEASURED", "write `module:function`"),
        ("workloads:absent", "NOT MEASURED", "has no function `absent`"),
        ("workloads:not_a_function", "NOT MEASURED", "has no function `not_a_function`"),
        ("imports_missing:build", "NOT MEASURED", "a_module_that_nobody_has' at imports_missing.py:3"),
        ("workloads:no_step", "NOT MEASURED", "no method `step`"),
        ("workloads:no_samples", "NOT MEASURED", "`samples_per_step` must be a whole number"),
        ("workloads:nothing_scored", "NOT MEASURED", "returned no score"),
        ("workloads:raises", "FAIL", "bf16: KeyError: 'loss' at workloads.py:"),
        ("workloads:exits", "NOT MEASURED", "SystemExit: no configuration at workloads.py:"),
        ("workloads:vanishes", "NOT MEASURED", "its process ended early: exit code 0"),
        ("workloads:is_killed", "NOT MEASURED", "killed by SIGKILL"),
    ],
)
def test_a_broken_workload_is_a_reason_in_one_line(measure: Measure, workload: str, status: str, told: str) -> None:
    """Whatever a workload does wrong, the stage completes, nothing passes, and one line says why."""
    result = measure(workload, targets=ALL)
    assert result.outcome is Outcome.COMPLETED
    assert "PASS" not in statuses(result).values()
    assert statuses(result)["effective-steps"] == status
    assert told in reasons(result)
    assert "\n" not in reasons(result)
    assert "Traceback" not in result.model_dump_json()


def test_a_stopped_clock_is_found(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that tells shorter times than the gate sees does so in the spare rounds as well."""
    monkeypatch.setattr(measuring, "CLOCK_SLACK_SECONDS", 0.1)
    result = measure("workloads:stops_the_clock", targets=ALL)
    assert "PASS" not in statuses(result).values()
    assert statuses(result)["effective-steps"] == "NOT MEASURED"
    assert "bf16: its own clock contradicts the gate's" in reasons(result)


def test_a_gate_that_was_held_up_takes_the_round_again(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the gate wakes up late: as many rounds count as planned, of equal arms."""
    held_up = iter([True, False, True])
    agree = measuring.plausible
    monkeypatch.setattr(measuring, "plausible", lambda *told: agree(*told) and next(held_up, True))
    monkeypatch.setattr(measuring, "SPARE_ROUNDS", 1)
    result = measure("workloads:sound", targets=ALL)
    assert [statuses(result)[name] for name in ("same-data", "effective-steps")] == ["PASS", "PASS"]
    ratio = next(m for m in result.measurements if m.id == "speedup-on-cpu.bf16")
    assert [side.n for side in ratio.arms] == [6, 6]
    monkeypatch.setattr(measuring, "plausible", lambda *_told: False)
    assert "contradicts" in reasons(measure("workloads:sound", targets=ALL))


def curves_of(result: StageResult) -> dict[str, dict[str, list[tuple[int, float]]]]:
    assert isinstance(result.details, PerformanceDetails)
    return {
        curve.arm: {
            name: [(point.step, point.value) for point in getattr(curve, name)] for name in ("loss", "accuracy")
        }
        for curve in result.details.curves or ()
    }


def test_arms_train_beside_each_other_on_a_cpu(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each arm takes its share of the cores while both train; where they are timed they have all of them again."""
    monkeypatch.setattr(measuring, "cores", lambda: 2)
    result = measure("workloads:meets", targets=ALL)
    assert statuses(result)["accuracy"] == "PASS"
    assert curves_of(result)["bf16"]["loss"] == [(step, 1.0) for step in (1, 2, 3)]
    assert isinstance(result.details, PerformanceDetails)
    assert ("threads", "2") in result.details.protocol


def test_arms_train_one_after_the_other_on_a_device(measure: Measure, simulated: Path) -> None:
    """There they may not fit beside each other, and nothing is taken from them."""
    (simulated / "cuda").touch()
    result = measure("workloads:learns", targets=ALL, arms=[])
    assert curves_of(result)["fp32"]["loss"] == [(step, 2.0) for step in (1, 2, 3)]


def test_the_first_training_is_evaluated_on_the_way(measure: Measure) -> None:
    """So often as the settings say, the last time at its end; once, and there is that point alone."""
    points = {arm: curve["accuracy"] for arm, curve in curves_of(measure("workloads:learns", evaluations=3)).items()}
    assert points["fp32"] == points["bf16"] == [(1, 0.125), (2, 0.25), (3, 0.375)]
    assert len(curves_of(measure("workloads:learns", evaluations=1))["fp32"]["accuracy"]) == 1


@pytest.mark.slow
def test_a_workload_that_hangs_is_stopped(measure: Measure) -> None:
    """The time limit ends both arms; the reason names the limit, not the time it took."""
    result = measure("workloads:hangs", targets=ALL, seconds=2.0)
    assert statuses(result)["effective-steps"] == "NOT MEASURED"
    assert "bf16: stopped at its time limit of 2 s" in reasons(result)


def test_arms_that_differ_are_not_compared(measure: Measure) -> None:
    """Other data, or other settings, in one arm: no accuracy is judged."""
    assert statuses(measure("workloads:other_data", targets=ALL))["same-data"] == "FAIL"
    threads = measure("workloads:other_threads", targets=ALL)
    assert "threads" in next(check.actual for check in threads.checks if check.id == "performance.accuracy")


def test_scores_that_amp_broke(measure: Measure) -> None:
    """NaN comes through the socket as what it is, and fails."""
    assert statuses(measure("workloads:not_a_number", targets=ALL))["accuracy"] == "FAIL"


def test_skipped_steps_are_seen(measure: Measure) -> None:
    """A scaler that skips every step makes a fast arm, and a failed check."""
    assert statuses(measure("workloads:skips", targets=ALL))["effective-steps"] == "FAIL"


def test_a_baseline_that_does_not_fit(measure: Measure, simulated: Path) -> None:
    """FP32 out of memory, alone too: a floor for what AMP saves, no figures out of the error's own text."""
    (simulated / "cuda").touch()
    result = measure("workloads:too_large", targets=ALL)
    assert statuses(result)["memory-reduction"] == "PASS"
    assert statuses(result)["speedup"] == "NOT MEASURED"
    assert "fp32: out of memory at workloads.py:" in reasons(result)
    assert "123.00" not in result.model_dump_json()
    assert "at least 0.5" in text(result)


def test_a_baseline_that_fits_alone(measure: Measure, simulated: Path) -> None:
    """Out of memory only beside the other arm says nothing about the baseline."""
    (simulated / "cuda").touch()
    result = measure("workloads:too_large_together", targets=ALL)
    assert statuses(result)["memory-reduction"] == "NOT MEASURED"
    assert "though it fits alone" in reasons(result)


def test_no_torch_is_said(measure: Measure, simulated: Path) -> None:
    """An interpreter without torch is a reason, not an error."""
    (simulated / "torch.py").write_text("raise ImportError('No module named torch')\n")
    assert "cannot import torch" in reasons(measure("workloads:sound"))


def test_gate_and_arm_agree_on_the_variable() -> None:
    """The two files cannot share the name of the variable, so it is compared here."""
    source = Path(verifygate.__file__).parent / "instrument" / "bench" / "arm.py"
    names = [
        node.value.value
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and "VARIABLE" in ast.dump(node)
    ]
    assert names == [SOCKET_VARIABLE]


@pytest.mark.slow
def test_real_torch_on_what_is_here(measure: Measure, tmp_path: Path) -> None:
    """The contract on real torch: the same data, every step taken, TF32 off, and a speed ratio."""
    shutil.copy(Path(__file__).parent / "real" / "tiny.py", tmp_path)
    result = measure("tiny:build", tmp_path, train_steps=30, targets={"accuracy_difference": 0.05})
    assert statuses(result)["same-data"] == "PASS"
    assert statuses(result)["effective-steps"] == "PASS"
    assert statuses(result)["accuracy"] == "PASS"
    assert result.details is not None
    assert ("TF32", "off") in result.details.protocol  # type: ignore[union-attr]
    assert any(m.metric == "speedup" and m.value for m in result.measurements)

"""What `make gpu` prints: one table of the tests, the checks and the measures, fed here without a device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gpu_table
import pytest

from verifygate.model import StageResult

QUICK = {"rounds": 3, "rounds_max": 3, "steps": 2, "warmup": 1, "train_steps": 3, "profile": False}

CASES = {
    "passed": '<testcase classname="tests.test_a" name="test_steps"/>',
    "failed": '<testcase classname="tests.test_a" name="test_memory">'
    '<failure message="assert 3 &lt; 2&#10;and more">long</failure></testcase>',
    "broken": '<testcase classname="" name="tests.test_b"><error message="collection failure">x</error></testcase>',
    "skipped": '<testcase classname="tests.test_a" name="test_ranks"><skipped message="needs two devices"/></testcase>',
}


def junit(*names: str) -> str:
    cases = "".join(CASES[name] for name in names)
    return f'<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite>{cases}</testsuite></testsuites>'


@pytest.fixture
def result(measure: Callable[..., StageResult], simulated: Path) -> StageResult:
    """Measured on the stand-in for a device; every target is met."""
    (simulated / "cuda").touch()
    targets = {"speedup": 1.001, "memory_reduction": 0.4, "accuracy_difference": 0.01}
    return measure("workloads:sound", targets=targets, arms=[])


def rows(text: str) -> dict[str, str]:
    """The first words of a row -> its last."""
    return {" ".join(line.split("  ")[0].split()): line.split("  ")[-1].strip() for line in text.splitlines()}


def test_tests_checks_and_measures_are_in_one_table(result: StageResult) -> None:
    """Each with its status; a skipped test is shown as NOT MEASURED, and does not fail the command."""
    text, code = gpu_table.table(junit("passed", "skipped"), result)
    found = rows(text)
    assert found["test tests.test_a::test_steps"] == "PASS"
    assert found["test tests.test_a::test_ranks"] == "NOT MEASURED"
    assert "needs two devices" in text
    assert {name: found[f"check performance.{name}"] for name in ("memory-reduction", "same-data", "accuracy")} == {
        "memory-reduction": "PASS",
        "same-data": "PASS",
        "accuracy": "PASS",
    }
    assert found["Share of fp32's peak memory that bf16 saves"] == "PASS"
    assert all(check.id in text for check in result.checks)
    assert all(measurement.title in text for measurement in result.measurements)
    missed = [check for check in result.checks if check.required and check.status not in ("PASS", "NOT APPLICABLE")]
    assert code == bool(missed)


@pytest.mark.slow
def test_the_command_runs_the_tests_and_writes_the_record(
    simulated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command on the stand-in: a test of the device, then the record, and the table of both."""
    (simulated / "cuda").touch()
    (simulated / "test_gpu.py").write_text("import pytest\n\n@pytest.mark.gpu\ndef test_it():\n    pass\n")
    (simulated / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    config = "\n".join(f"{key} = {str(value).lower()}" for key, value in QUICK.items())
    (simulated / "verifygate.toml").write_text(f'[performance]\nworkload = "workloads:sound"\n{config}\n')
    monkeypatch.setattr(gpu_table, "ROOT", simulated)
    assert gpu_table.main() == 0
    found = rows(capsys.readouterr().out)
    assert found["test test_gpu::test_it"] == "PASS"
    assert found["check performance.same-data"] == "PASS"
    assert (simulated / "reports/records/simulated-gpu.json").is_file()


def test_what_fails_fails_the_command(result: StageResult) -> None:
    """A failed test, one that was not collected, no passing one, no measurement, or a required check that is open."""
    met = result.model_copy(update={"checks": tuple(each for each in result.checks if each.status == "PASS")})
    assert gpu_table.table(junit("passed"), met)[1] == 0
    text, code = gpu_table.table(junit("passed", "failed"), met)
    assert code == 1
    assert rows(text)["test tests.test_a::test_memory"] == "FAIL"
    assert "assert 3 < 2" in text
    assert "and more" not in text
    for none_passes in (junit("passed", "broken"), junit("skipped"), junit(), "<testsuites/>"):
        assert gpu_table.table(none_passes, met)[1] == 1
    assert gpu_table.table(junit("passed"), None)[1] == 1
    open_check = met.checks[0].model_copy(update={"status": "NOT MEASURED", "required": True})
    assert gpu_table.table(junit("passed"), met.model_copy(update={"checks": (open_check,)}))[1] == 1

"""What `make gpu` prints: one table of the tests, the checks and the measures, fed here without a device."""

from __future__ import annotations

import ast
import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gpu_table
import pytest

from verifygate.config.performance import PerformanceSettings
from verifygate.config.settings import Settings
from verifygate.model import StageResult
from verifygate.performance.comparison import loaded

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
def test_the_command_runs_each_stage_and_writes_the_records(
    simulated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command on the stand-in: products, a test of the device, both sizes, their records and tables."""
    (simulated / "cuda").touch()
    (simulated / "tests").mkdir()
    (simulated / "tests/test_gpu.py").write_text("import pytest\n\n@pytest.mark.gpu\ndef test_it():\n    pass\n")
    (simulated / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    config = "\n".join(f"{key} = {str(value).lower()}" for key, value in QUICK.items())
    (simulated / "verifygate.toml").write_text(f'[performance]\nworkload = "workloads:sound"\n{config}\n')
    monkeypatch.setattr(gpu_table, "ROOT", simulated)
    monkeypatch.setitem(gpu_table.LARGE, "workload", "workloads:sound")
    monkeypatch.setitem(gpu_table.LARGE, "profile", False)
    products = simulated / "products.py"
    products.write_text('print(\'{"precision": "bf16", "size": 8, "tflops": 1.5}\')\n', encoding="utf-8")
    monkeypatch.setattr(gpu_table, "PRODUCTS", products)
    monkeypatch.chdir(simulated)  # where the command goes; the next test begins where this one did
    into = tmp_path / "result"
    assert gpu_table.main(["--into", str(into)]) == 0
    shown = capsys.readouterr().out
    found = rows(shown)
    assert found["test tests.test_gpu::test_it"] == "PASS"
    assert found["check performance.same-data"] == "PASS"
    assert "bf16    1.5 TFLOP/s" in shown
    judged = [each.name for each in (simulated / "reports/records").iterdir()]
    assert judged == ["simulated-gpu.json"], "the gate's own settings are those of the small size"
    assert all((into / f"{size}.record.json").is_file() for size in ("small", "large"))
    told = [json.loads(line) for line in (into / "stages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [each["stage"] for each in told] == ["products", "tests", "small", "large"]
    assert not [each for each in told if "NOT MEASURED" in each["came"]]
    for size in ("small", "large"):
        table = (into / f"{size}.table.txt").read_text(encoding="utf-8")
        assert [line.split()[0] for line in table.splitlines()[1:7]] == [
            "arm",
            "ieee",
            "tf32",
            "bf16",
            "fp16",
            "float8",
        ]


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


def test_only_files_with_a_gpu_marked_test_are_collected(tmp_path: Path) -> None:
    """By their decorators: a word in a text marks nothing. Of this checkout they are few, and import no hypothesis."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_a.py").write_text("import pytest\n\n@pytest.mark.gpu\ndef test_it():\n    pass\n", encoding="utf-8")
    (folder / "test_b.py").write_text('"""pytest.mark.gpu"""\n', encoding="utf-8")
    assert gpu_table.marked(tmp_path) == ["tests/test_a.py"]
    found = gpu_table.marked(gpu_table.ROOT)
    assert "tests/performance/test_on_a_device.py" in found
    for path in found:
        modules = {
            name.name.partition(".")[0]
            for node in ast.walk(ast.parse((gpu_table.ROOT / path).read_text(encoding="utf-8")))
            if isinstance(node, ast.Import)
            for name in node.names
        }
        assert modules <= {*sys.stdlib_module_names, "pytest", "torch", "warnings"}, path


def test_a_stage_that_fails_or_has_no_time_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    """Each is one line of `stages.jsonl`, as soon as it is over."""
    run = gpu_table.Run(tmp_path, time.monotonic() + 1000)

    def broken() -> str:
        raise RuntimeError("the driver is gone")

    run.stage("first", broken)
    run.stage("second", lambda: "done")
    run.end = time.monotonic()
    run.stage("third", lambda: "never")
    told = [json.loads(line) for line in (tmp_path / "stages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [each["came"] for each in told] == [
        "NOT MEASURED: RuntimeError: the driver is gone",
        "done",
        "NOT MEASURED: no time was left",
    ]


def test_a_killed_measurement_leaves_what_it_had(
    simulated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each round the comparison and its table lie in the folder, and both can be read."""
    (simulated / "cuda").touch()
    monkeypatch.setattr(gpu_table, "ROOT", simulated)
    monkeypatch.chdir(simulated)
    how = PerformanceSettings.model_validate({"workload": "workloads:sound", **QUICK})
    settings = Settings(root=simulated, today=dt.date(2025, 1, 1), performance=how)
    rounds: list[int] = []
    real = gpu_table._replaced

    def killed(path: Path, text: str) -> None:
        real(path, text)
        if path.name == "small.comparison.json":
            rounds.append(len(loaded(json.loads(text)).base.rounds))
        if rounds[-1] == 2 and path.name == "small.table.txt":
            raise KeyboardInterrupt

    monkeypatch.setattr(gpu_table, "_replaced", killed)
    run = gpu_table.Run(tmp_path, time.monotonic() + 1000)
    with pytest.raises(KeyboardInterrupt):
        gpu_table.run_size(run, settings, "small", lambda *_found: None)
    assert sorted(set(rounds)) == [0, 1, 2]
    kept = loaded(json.loads((tmp_path / "small.comparison.json").read_text(encoding="utf-8")))
    assert len(kept.base.rounds) == 2
    assert "samples/s" in (tmp_path / "small.table.txt").read_text(encoding="utf-8")


def test_matrix_products_are_told_one_by_one(tmp_path: Path) -> None:
    """On a CPU float32 and the halves; TF32 and float8 with the reason. Shares where the device is known."""
    ended = subprocess.run(
        [sys.executable, gpu_table.PRODUCTS, "32"], capture_output=True, text=True, check=True, env={**os.environ}
    )
    (tmp_path / "products.jsonl").write_text(ended.stdout, encoding="utf-8")
    text = gpu_table.products_table(tmp_path, "cpu")
    assert re.search(r"^ieee +[\d.e-]+ TFLOP/s, share of peak NOT MEASURED \(size 32\)$", text, re.MULTILINE)
    assert "tf32    NOT MEASURED: the device has no TF32" in text
    assert "float8  NOT MEASURED: the device has no float8" in text
    (tmp_path / "products.jsonl").write_text('{"precision": "float8", "size": 8192, "tflops": 989.5}\n')
    assert "989.5 TFLOP/s, 50.0% of peak" in gpu_table.products_table(tmp_path, "NVIDIA H200")


def test_the_large_size_differs_in_its_settings_alone() -> None:
    """No target, and the workload that `build_large` gives."""
    small = Settings(root=gpu_table.ROOT, today=dt.date(2025, 1, 1), performance=PerformanceSettings(workload="a:b"))
    how = gpu_table.large(small).performance
    assert how.workload == "reference_impl.workload:build_large"
    assert how.targets.speedup is None
    assert how.profile

"""What needs a CUDA device. It imports nothing but pytest and what verifygate itself depends on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.model import StageResult, Status

Measure = Callable[..., StageResult]
CONFIG = """\
[performance]
workload = "tiny:build"
rounds = 3
rounds_max = 3
steps = 2
warmup = 1
train_steps = 3
seeds = [0]

[performance.targets]

[performance.records]
files = ["requirements.txt"]
"""


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs a CUDA device: nvidia-smi is not there")
def test_a_real_device_measures_for_a_process_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record of a CUDA device answers for the same machine with the device hidden."""
    shutil.copy(Path(__file__).parent / "real" / "tiny.py", tmp_path)
    (tmp_path / "verifygate.toml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "record"]) == 0
    (path,) = (tmp_path / "reports/records").glob("*.json")
    name = json.loads(path.read_text(encoding="utf-8"))["predicate"]["comparison"]["arms"][0]["host"]["device_name"]
    assert name not in ("", "cpu")
    capsys.readouterr()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert main(["bench", "verify", str(path)]) == 0
    assert f"measured on {name}" in capsys.readouterr().out
    main(["run", "--stage", "performance"])
    report = json.loads((tmp_path / "reports/latest/report.json").read_text(encoding="utf-8"))
    checks = {check["id"]: check for check in report["stages"][0]["checks"]}
    assert checks["performance.records"]["status"] == "PASS"
    assert name in checks["performance.speedup"]["evidence"][0]["summary"]


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs a CUDA device: nvidia-smi is not there")
def test_a_real_device_measures_speed_and_memory(measure: Measure, tmp_path: Path) -> None:
    """On CUDA both targets get a value and an interval on the device's own name."""
    shutil.copy(Path(__file__).parent / "real" / "tiny.py", tmp_path)
    result = measure("tiny:build", tmp_path, targets={"speedup": 1.01, "memory_reduction": 0.01})
    by_id = {measurement.metric: measurement for measurement in result.measurements}
    for metric in ("speedup", "memory-reduction"):
        assert by_id[metric].value is not None
        assert by_id[metric].device not in ("cpu", "accelerator")
        assert by_id[metric].status in (Status.PASS, Status.FAIL, Status.NOT_MEASURED)
    assert by_id["peak-memory"].value

"""pytest-benchmark's JSON: the plugin's own file is read, and ours is read by the plugin's own command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from verifygate.base.errors import UsageError
from verifygate.performance.benchmark_json import read, written
from verifygate.performance.comparison import ArmRecord, Comparison, Host, Plan, Round

HOST = Host("Linux x86_64", "3.11", "2.13", "cuda", "Some GPU", True)
PLAN = Plan("m:build", steps=2, warmup=1, train_steps=3, seeds=(0,), rounds=3, rounds_max=3)
SUITE = """
import pytest, time
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_step(benchmark, precision):
    benchmark.pedantic(time.sleep, args=(0.004 if precision == "fp32" else 0.002,), rounds=3)
def test_other(benchmark):
    benchmark.pedantic(lambda: None, rounds=3)
"""


def arm(name: str, step: float) -> ArmRecord:
    return ArmRecord(name, HOST, 8, rounds=[Round((step, step * 1.01), 2) for _ in range(3)])


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}


def test_what_pytest_wrote_is_read(tmp_path: Path) -> None:
    """Raw samples of both precisions, their ratio as a figure without a target; other benchmarks have none."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--benchmark-only"]
    more = ["--benchmark-save-data", "--benchmark-json=found.json", "test_suite.py"]
    subprocess.run([*command, *more], cwd=tmp_path, env=environment(), check=True, capture_output=True)
    (ratio,) = read(tmp_path, "found.json").measurements()
    assert ratio.id == "benchmark.test_step.bf16"
    assert ratio.target == ""
    assert [(side.name, side.n) for side in ratio.arms] == [("fp32", 3), ("bf16", 3)]
    assert ratio.value is not None
    document = json.loads((tmp_path / "found.json").read_text())
    raw = {one["name"]: one["stats"]["median"] for one in document["benchmarks"]}
    assert ratio.value == pytest.approx(raw["test_step[fp32]"] / raw["test_step[bf16]"])


def test_what_is_written_comes_back_and_the_plugin_reads_it(tmp_path: Path) -> None:
    """The same samples, the same medians, and a row for each arm in `pytest-benchmark compare`."""
    comparison = Comparison(PLAN, (arm("fp32", 0.2), arm("bf16", 0.1)))
    (tmp_path / "ours.json").write_text(written(comparison, "2026-01-01T00:00:00"))
    (ratio,) = read(tmp_path, "ours.json").measurements()
    assert ratio.value == pytest.approx(median(arm("", 0.2).step_seconds) / median(arm("", 0.1).step_seconds))
    assert ratio.device == "Some GPU"
    compare = [sys.executable, "-m", "pytest_benchmark", "compare", "ours.json"]
    shown = subprocess.run(compare, cwd=tmp_path, env=environment(), check=True, capture_output=True, text=True)
    assert "step[fp32]" in shown.stdout + shown.stderr
    assert "step[bf16]" in shown.stdout + shown.stderr


def one_benchmark(stats: str) -> str:
    return f'{{"machine_info": {{}}, "benchmarks": [{{"name": "a", "fullname": "a", "stats": {stats}}}]}}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nothing", "is not JSON of pytest-benchmark"),
        ('{"benchmarks": []}', "`machine_info`"),
        (one_benchmark('{"mean": 1}'), "no raw samples"),
        (one_benchmark('{"data": [0.0]}'), "no raw samples"),
    ],
)
def test_what_holds_no_samples_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """A summary without samples shows nothing that could be checked."""
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(UsageError, match=told):
        read(tmp_path, "found.json")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path, "absent.json")

"""Arms of several processes: the command line of torchrun, one answer out of many, and a real run over gloo."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.model import StageResult
from verifygate.performance.ranks import command_line, joined

Measure = Callable[..., StageResult]
ARM = Path("arm.py")


def test_torchrun_starts_the_processes() -> None:
    """One process needs none of it."""
    assert command_line(ARM, 1) == ["arm.py"]
    module, name, *options, arm = command_line(ARM, 4)
    assert (module, name, arm) == ("-m", "torch.distributed.run", "arm.py")
    assert options == ["--standalone", "--nproc-per-node=4", "--max-restarts=0"]


def test_the_slowest_process_counts() -> None:
    """Times and memory are the largest, work is what all of them did, data is everybody's."""
    first = {
        "seconds": [1.0, 5.0],
        "effective": 2,
        "peak_bytes": 10,
        "digest": "a",
        "samples_per_step": 8,
        "scores": [1],
    }
    second = {
        "seconds": [2.0, 3.0],
        "effective": 1,
        "peak_bytes": 30,
        "digest": "b",
        "samples_per_step": 8,
        "scores": [0],
    }
    both = joined([first, second])
    digest = both.pop("digest")
    assert both == {"seconds": [1.0, 5.0], "effective": 1, "peak_bytes": 30, "samples_per_step": 16, "scores": [1]}
    assert digest not in ("a", "b", joined([second, first])["digest"], joined([first, first])["digest"])
    assert joined([first]) == first


def test_what_one_process_does_not_count_nobody_counts() -> None:
    """A peak of which a part is unknown is unknown."""
    assert joined([{"peak_bytes": 10}, {"peak_bytes": None}]) == {"peak_bytes": None}


@pytest.mark.slow
def test_two_processes_over_gloo(measure: Measure, tmp_path: Path) -> None:
    """DistributedDataParallel on a CPU, both arms in two processes each, on the data that both saw."""
    shutil.copy(Path(__file__).parent / "real" / "distributed.py", tmp_path)
    result = measure("distributed:build", tmp_path, cluster={"processes": 2}, seconds=120.0, profile=True)
    assert [check.actual for check in result.checks if check.id == "performance.effective-steps"] == [""]
    checks = {check.id: str(check.status) for check in result.checks}
    assert checks["performance.same-data"] == "PASS"
    assert checks["performance.effective-steps"] == "PASS"
    assert {each.reason for each in result.details.profiles} == {"an arm of several processes is not profiled"}
    assert any(each.metric == "throughput" and each.value for each in result.measurements)


@pytest.mark.slow
def test_a_process_that_fails_fails_the_arm(measure: Measure, tmp_path: Path) -> None:
    """The others wait for it in vain; nobody waits for them."""
    shutil.copy(Path(__file__).parent / "real" / "distributed.py", tmp_path)
    result = measure("distributed:one_fails", tmp_path, cluster={"processes": 2}, seconds=120.0, profile=False)
    (check,) = [check for check in result.checks if check.id == "performance.effective-steps"]
    assert check.status == "FAIL"
    assert "bf16: KeyError: 'loss' at distributed.py:" in check.actual

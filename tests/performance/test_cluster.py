"""Benchmark jobs through submitit: what a job returns, what its failure says, and what the settings may not say."""

from __future__ import annotations

import operator
import os
from pathlib import Path

import pytest

from verifygate.base.errors import UsageError
from verifygate.config.performance import ClusterSettings
from verifygate.performance.cluster import Jobs

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # logs that submitit leaves open


@pytest.mark.slow
def test_a_local_job_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    """The call's result comes back as a future's; its logs lie in the folder of the settings."""
    with Jobs(ClusterSettings(executor="local"), tmp_path) as jobs:
        assert jobs.submit(os.getpid).result() != os.getpid()
    assert list((tmp_path / ".verifygate" / "jobs").glob("*_log.out"))


@pytest.mark.slow
def test_a_job_that_fails_says_why_in_one_line(tmp_path: Path) -> None:
    """Its last word, its number and the folder of its logs: no traceback."""
    with Jobs(ClusterSettings(executor="local", folder="logs"), tmp_path) as jobs:
        error = jobs.submit(operator.truediv, 1, 0).exception()
    assert isinstance(error, UsageError)
    assert "ZeroDivisionError" in str(error)
    assert str(tmp_path / "logs") in str(error)
    assert "\n" not in str(error)


def test_a_debug_job_runs_here(tmp_path: Path) -> None:
    """In the gate's own process, for who looks for a fault in it."""
    with Jobs(ClusterSettings(executor="debug"), tmp_path) as jobs:
        assert jobs.submit(os.getpid).result() == os.getpid()
        assert "division by zero" in str(jobs.submit(operator.truediv, 1, 0).exception())


def test_parameters_are_passed_on_and_checked(tmp_path: Path) -> None:
    """What submitit knows is taken; what it does not know is said, with the line of the settings."""
    Jobs(ClusterSettings(executor="local", parameters={"timeout_min": 5, "slurm_partition": "gpu"}), tmp_path)
    with pytest.raises(UsageError, match=r"verifygate.toml:3: the cluster rejects the job: .*'colour'"):
        Jobs(ClusterSettings(executor="local", parameters={"colour": "red"}), tmp_path, "verifygate.toml:3")

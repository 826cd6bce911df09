"""Two revisions measured in one run, and gains against a record: through the real command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.config.performance import PerformanceSettings
from verifygate.model import StageResult, Status
from verifygate.performance.against_record import compared
from verifygate.performance.comparison import ArmRecord, Comparison, Failure, Host, Plan, Round, Training, Trouble
from verifygate.performance.regression import Regression, refuse_other_trees, told

GPU = Host("Linux", "3.11", "2.13", "cuda", "Simulated GPU", True)
PLAN = Plan("work:build", steps=2, warmup=0, train_steps=1, seeds=(0,), rounds=4, rounds_max=4)
DRIFT = (1.0, 1.3, 0.8, 1.1)
"""The machine's own speed in each round: it cancels in a pair."""
CONFIG = """\
[performance]
workload = "workloads:sound"
precision = "bf16"
rounds = 3
rounds_max = 3
steps = 2
warmup = 1
train_steps = 3
seeds = [0]
slowdown = 0.5
"""


def arm(name: str, step: float, peak: int | None = 1000, **changes: Any) -> ArmRecord:
    rounds = [Round((step * drift, step * drift * 1.001), 2, peak, peak, "data") for drift in DRIFT]
    training = Training(0, 1, 1, (1.0, 0.0) * 20, "data", (0.5,))
    return replace(ArmRecord(name, GPU, 8, 400, None, {"threads": "1"}, [training], rounds), **changes)


def judged(*arms: ArmRecord, **settings: Any) -> StageResult:
    return told(Regression("c0ffee", Comparison(PLAN, arms)), PerformanceSettings(**settings))


def statuses(result: StageResult) -> dict[str, str]:
    return {check.id.removeprefix("performance."): str(check.status) for check in result.checks}


def test_equal_revisions_pass_on_a_drifting_machine() -> None:
    """Rounds pair the revisions, so what the machine does to both does not count."""
    result = judged(arm("bf16", 0.001), arm("bf16", 0.00101), arm("fp32", 0.002), arm("fp32", 0.002))
    assert statuses(result) == {
        "speed-against.bf16": "PASS",
        "memory-against.bf16": "PASS",
        "speed-against.fp32": "PASS",
        "memory-against.fp32": "PASS",
        "vanished": "PASS",
    }
    assert result.measurements[0].value == pytest.approx(1 / 1.01)


def test_a_slower_or_larger_step_fails() -> None:
    """Beyond the setting's share; each precision for itself."""
    result = judged(arm("bf16", 0.001), arm("bf16", 0.0011), arm("fp32", 0.002), arm("fp32", 0.002, peak=1100))
    assert statuses(result)["speed-against.bf16"] == "FAIL"
    assert statuses(result)["speed-against.fp32"] == "PASS"
    assert statuses(result)["memory-against.fp32"] == "FAIL"
    assert statuses(judged(arm("bf16", 0.001), arm("bf16", 0.0011), slowdown=0.2))["speed-against.bf16"] == "PASS"


def test_a_metric_that_vanished_fails() -> None:
    """What could be measured before and cannot be now is named."""
    mute = arm("bf16", 0.001, peak=None, parameter_bytes=None, trainings=[Training(0, 1, 1, (1.0,) * 40)])
    result = judged(arm("bf16", 0.001), mute)
    (check,) = [check for check in result.checks if check.id == "performance.vanished"]
    assert check.status is Status.FAIL
    assert check.actual == "gone: losses (bf16), parameter bytes (bf16), peak memory (bf16)"


def test_what_cannot_be_compared_is_not_measured() -> None:
    """Other flags, or another amount of work: no ratio."""
    for changes in ({"flags": {"threads": "2"}}, {"samples_per_step": 16}):
        result = judged(arm("bf16", 0.001), arm("bf16", 0.001, **changes))
        assert statuses(result)["speed-against.bf16"] == "NOT MEASURED"
        assert result.measurements[0].value is None


def test_a_revision_that_broke_fails_and_one_that_is_mended_is_not_measured() -> None:
    """Where only the earlier one breaks, nobody can say how fast it was."""
    broken = arm("bf16", 0.001, rounds=[], failure=Failure(Trouble.RAISED, "KeyError: 'loss'", "train"))
    assert statuses(judged(arm("bf16", 0.001), broken))["speed-against.bf16"] == "FAIL"
    assert statuses(judged(broken, arm("bf16", 0.001)))["speed-against.bf16"] == "NOT MEASURED"


def gains(now: float, then: float, host: Host = GPU, peak: int = 500) -> dict[str, str]:
    """Checks of a speed-up of `now` against a record with one of `then`."""
    here = Comparison(PLAN, (arm("fp32", now / 1000), arm("bf16", 0.001, peak)))
    there = Comparison(PLAN, (arm("fp32", then / 1000, host=host), arm("bf16", 0.001, 500, host=host)))
    answers = compared(here, there, "old.json", PerformanceSettings())
    return {answer.check.id.removeprefix("performance."): str(answer.check.status) for answer in answers}


def test_gains_are_compared_with_those_of_a_record() -> None:
    """A smaller speed-up fails, a larger need of memory too; on another device nothing is said."""
    fine = {"speedup-against-record": "PASS", "memory-reduction-against-record": "PASS", "vanished": "PASS"}
    assert gains(now=2.0, then=2.0) == fine
    assert gains(now=3.0, then=2.0) == fine
    assert gains(now=1.5, then=2.0)["speedup-against-record"] == "FAIL"
    assert gains(now=2.0, then=2.0, peak=700)["memory-reduction-against-record"] == "FAIL"
    other = gains(now=2.0, then=2.0, host=replace(GPU, device_name="Another GPU"))
    assert other["speedup-against-record"] == "NOT MEASURED"


def test_a_workload_from_another_tree_fails() -> None:
    """An installed project gives both arms the same files: that would be no comparison at all."""
    foreign, own = arm("bf16", 0.001, files=("data.py",)), arm("bf16", 0.001, files=("src/work.py", "data.py"))
    refuse_other_trees([foreign, own], ("data.py", "src/work.py"), "work:build")
    assert foreign.failure is not None
    assert "another tree" in foreign.failure.text
    assert own.failure is None


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """The simulated project as a repository with one commit, and as the working directory."""
    root = tmp_path / "project"
    shutil.copytree(Path(__file__).parent / "simulated", root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "verifygate.toml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(root)

    def git(*command: str) -> subprocess.CompletedProcess[bytes]:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        return subprocess.run(["git", *identity, *command], check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    return git


def against(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main(["bench", "run", "--against", name, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def checks(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["id"].removeprefix("performance."): check for check in document["checks"]}


def test_the_working_tree_is_measured_against_a_commit(
    repository: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A step that sleeps a hundred times as long is found out; data that git does not keep is in both trees."""
    workloads = Path("workloads.py")
    text = workloads.read_text(encoding="utf-8")
    reads = text.replace("def sound(", "assert Path('data.txt').read_text() == 'kept by nobody'\n\n\ndef sound(")
    workloads.write_text(reads, encoding="utf-8")
    repository("commit", "-qam", "second")
    Path("data.txt").write_text("kept by nobody", encoding="utf-8")
    workloads.write_text(reads.replace("0.001 if self.half", "0.1 if self.half"), encoding="utf-8")
    code, document = against("HEAD", capsys)
    assert code == 1
    assert checks(document)["speed-against.bf16"]["status"] == "FAIL"
    assert checks(document)["vanished"]["status"] == "PASS"


def test_a_commit_without_the_workload_says_so(
    repository: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to compare with, and that is no PASS."""
    config = Path("verifygate.toml")
    Path("workloads.py").rename("renamed.py")
    config.write_text(CONFIG.replace("workloads:", "renamed:"), encoding="utf-8")
    code, document = against("HEAD", capsys)
    assert code == 1
    assert checks(document)["speed-against.bf16"]["status"] == "NOT MEASURED"
    assert "the earlier revision: there is no module `renamed`" in checks(document)["speed-against.bf16"]["actual"]


def test_a_revision_or_record_that_is_none(repository: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Names the option, or the file."""
    assert main(["bench", "run", "--against", "nowhere"]) == 2
    assert "--against: git knows no revision `nowhere`" in capsys.readouterr().err
    Path("record.json").write_text("{}", encoding="utf-8")
    assert main(["bench", "run", "--against", "record.json"]) == 2
    assert "record.json: no record" in capsys.readouterr().err


def test_a_run_against_a_record(repository: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    """On the same device, under the same settings: what the record holds is compared beside the targets."""
    Path("cuda").touch()
    main(["bench", "record", "-o", "old.json"])
    _, document = against("old.json", capsys)
    assert {"speedup-against-record", "memory-reduction-against-record", "vanished", "same-data"} <= set(
        checks(document)
    )
    assert checks(document)["memory-reduction-against-record"]["status"] == "PASS"
    Path("verifygate.toml").write_text(CONFIG.replace("steps = 2", "steps = 4"), encoding="utf-8")
    assert main(["bench", "run", "--against", "old.json"]) == 2

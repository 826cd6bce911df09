"""The project's interpreter is asked what it is, and one that cannot run pytest is a failure with a remedy."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from verifygate.config.settings import Settings
from verifygate.execution import ExecutionStage
from verifygate.execution.environment import ask
from verifygate.model import Outcome, Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources
from verifygate.stage import StageContext


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A virtual environment with nothing in it."""
    place = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    return place / "bin" / "python"


def _stage_on(root: Path, interpreter: Path):  # type: ignore[no-untyped-def]
    (root / "test_one.py").write_text("def test_one():\n    assert True\n")
    settings = Settings(root=root, today=dt.date(2026, 1, 1))
    sources = read_sources(root, ["test_one.py"])
    return ExecutionStage().run(StageContext(settings, sources, Subject(root, interpreter)))


def test_an_interpreter_without_torch_says_so(tmp_path: Path, bare: Path) -> None:
    """Nothing is guessed about what is not installed."""
    answers = ask(Subject(tmp_path, bare), tmp_path).answers
    assert answers["python"] == platform.python_version()
    assert (answers["torch"], answers["pytest"], answers["cuda"]) == (
        "not installed",
        "not installed",
        "not known without torch",
    )


@pytest.mark.slow
def test_an_interpreter_with_torch_tells_version_and_device(tmp_path: Path) -> None:
    """torch is imported in the child, never in the gate."""
    answers = ask(Subject(tmp_path, Path(sys.executable)), tmp_path).answers
    assert answers["torch"][0].isdigit()
    assert answers["cuda"] == "not available" or " x " in answers["cuda"]


def test_missing_pytest_is_a_failure_with_a_remedy(tmp_path: Path, bare: Path) -> None:
    """There are tests and they cannot run: that is not a stage that does not apply."""
    result = _stage_on(tmp_path, bare)
    assert result.outcome is Outcome.COMPLETED
    assert [(check.id, check.status) for check in result.checks] == [("execution.tests-ran", Status.FAIL)]
    assert result.checks[0].actual.startswith("pytest is not installed in ")
    assert result.checks[0].actual.endswith(bare.name)
    assert "python -m pip install pytest" in result.checks[0].remedy


def test_an_interpreter_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    """The reason names the trouble and not the path."""
    result = _stage_on(tmp_path, tmp_path / "no" / "python")
    assert result.checks[0].status is Status.FAIL
    assert result.checks[0].actual == "it cannot be started: No such file or directory"


def test_importing_the_stage_loads_nothing_heavy() -> None:
    """coverage, pytest, torch and libcst are imported where they are used, or never."""
    code = (
        "import sys, verifygate.execution; "
        "print([name for name in ('coverage', 'pytest', 'torch', 'libcst') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""Runs the ready-made suites under suites/ the way the gate would, each in a copy of its own."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from event_clock import Clock

from verifygate.config.settings import ExecutionSettings, Settings
from verifygate.execution import ExecutionStage
from verifygate.execution.environment import Interpreter
from verifygate.execution.session import OPTIONS
from verifygate.model import StageResult
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources
from verifygate.stage import StageContext

SUITES = Path(__file__).parent / "suites"
USE_HYPOTHESIS = ("unusual_tests",)
"""Loading hypothesis takes half the time of most of these runs, so the others go without its plugin."""


@pytest.fixture
def time_is_up_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """A function that makes every process run until its limit or until a file is there."""
    return lambda marker: monkeypatch.setattr("verifygate.process.supervision.time", Clock(marker))


@pytest.fixture(scope="session")
def run_suite(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StageResult]:
    """A function that runs one suite through the stage; settings of `[execution]` are its keyword arguments.

    With `git=True` the suite lies in what looks like a repository. With `until="NAME"` the time of the run is up when
    the suite writes a file of that name. A suite runs once however many tests ask for it
    (`copy=2` runs it again, elsewhere). The interpreter is not asked about torch,
    which takes seconds; test_execution_environment.py asks a real one.
    """
    results: dict[str, StageResult] = {}

    def run(name: str, copy: int = 1, **execution: Any) -> StageResult:
        key = repr((name, copy, sorted(execution.items())))
        if key not in results:
            results[key] = _run(name, tmp_path_factory.mktemp("suite") / name, {"seconds": 600.0} | execution)
        return results[key]

    return run


def _run(name: str, root: Path, execution: dict[str, Any]) -> StageResult:
    shutil.copytree(SUITES / name, root, ignore=shutil.ignore_patterns("__pycache__"))
    if execution.pop("git", False):
        (root / ".git").mkdir()
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "pytest.ini").touch()  # so that pytest looks no higher
    until = execution.pop("until", "")
    settings = Settings(root=root, today=dt.date(2026, 1, 1), execution=ExecutionSettings(**execution))
    context = StageContext(
        settings, read_sources(root, ["."]), Subject(root, Path(sys.executable), settings.execution.pass_env)
    )
    with pytest.MonkeyPatch.context() as patch:
        answers = {"pytest": pytest.__version__, "python": "3"}
        patch.setattr("verifygate.execution.stage.ask", lambda *_: Interpreter(answers))
        if name not in USE_HYPOTHESIS:
            patch.setattr("verifygate.execution.session.OPTIONS", (*OPTIONS, "-p", "no:hypothesispytest"))
        if until:
            patch.setattr("verifygate.process.supervision.time", Clock(root / until))
        return ExecutionStage().run(context)

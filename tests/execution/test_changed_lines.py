"""`--since`: which AMP lines a change brings, and which of them no test reaches."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pytest

from verifygate.config.settings import Settings
from verifygate.execution import ExecutionStage
from verifygate.execution.change_coverage import changed_statements
from verifygate.execution.environment import Interpreter
from verifygate.model import Check, Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.stage import StageContext

BEFORE = '''"""Stands for a step under autocast."""


def step(scaler, loss):
    """One step."""
    scaler.step(loss)
    return loss


def report(loss):
    return loss
'''
AFTER = BEFORE.replace(
    "    return loss\n\n\ndef report(loss):\n    return loss\n",
    """    if loss > 1:
        scaler.update(
            2,
        )
    return loss

def report(loss):
    print(loss)
    return loss


LIMIT = 3
PRECISION = autocast = "fp16"
""",
)
TESTS = """import amp_step


class Scaler:
    def step(self, loss): ...
    def update(self, scale): ...


def test_step():
    amp_step.step(Scaler(), 1)
"""


def lines(before: str | None, after: str) -> list[int]:
    old = None if before is None else SourceFile("a.py", before.encode())
    return [statement.line for statement in changed_statements(SourceFile("a.py", after.encode()), old)]


def test_only_changed_statements_of_amp_code_count() -> None:
    """A new branch and what is in it, and a module's own AMP line; not a plain function, nor a plain constant."""
    assert lines(BEFORE, AFTER) == [7, 8, 19]
    assert lines(BEFORE, BEFORE) == []


def test_everything_is_new_in_a_new_file() -> None:
    """Docstrings and `def` lines are no statements of their own."""
    assert lines(None, BEFORE) == [6, 7]


def test_moving_or_indenting_is_no_change() -> None:
    """Blank lines and the space before a line say nothing new."""
    assert lines(BEFORE, BEFORE.replace("\n\n\n", "\n\n").replace("    ", "  ")) == []


@pytest.mark.parametrize("broken", ["def f(:\n", "\0"])
def test_a_file_that_cannot_be_parsed_has_no_lines(broken: str) -> None:
    """The static stage reports it."""
    assert lines(BEFORE, broken) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, and a change on top of it."""
    (tmp_path / "amp_step.py").write_text(BEFORE)
    (tmp_path / "test_amp_step.py").write_text(TESTS)
    (tmp_path / "pytest.ini").touch()
    for command in ("init -q", "add .", "-c user.name=A -c user.email=a@example.org commit -qm first"):
        subprocess.run(["git", "-C", str(tmp_path), *command.split()], check=True)
    (tmp_path / "amp_step.py").write_text(AFTER)
    return tmp_path


def _changed_lines(root: Path, monkeypatch: pytest.MonkeyPatch, since: str = "HEAD") -> list[Check]:
    settings = Settings(root=root, today=dt.date(2026, 1, 1))
    subject = Subject(root, Path(sys.executable))
    monkeypatch.setattr("verifygate.execution.stage.ask", lambda *_: Interpreter({"pytest": "9", "python": "3"}))
    context = StageContext(settings, read_sources(root, ["."]), subject, since=since)
    return [check for check in ExecutionStage().run(context).checks if check.id == "execution.changed-lines"]


def test_what_no_test_reaches_is_listed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition is reached, the call behind it is not."""
    (check,) = _changed_lines(project, monkeypatch)
    assert (check.status, check.required, check.actual) == (
        Status.PARTIAL,
        False,
        "no test reaches 1 of 3 changed lines",
    )
    assert [(one.path, one.line) for one in check.evidence] == [("amp_step.py", 8)]


def test_what_tests_reach_passes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more test, and all is reached."""
    (project / "test_amp_step.py").write_text(TESTS + "\n\ndef test_more():\n    amp_step.step(Scaler(), 2)\n")
    (check,) = _changed_lines(project, monkeypatch)
    assert (check.status, check.actual) == (Status.PASS, "tests reach all 3 changed lines")


def test_without_a_revision_there_is_no_such_check(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without a change there is nothing to reach."""
    assert _changed_lines(project, monkeypatch, since="") == []
    (project / "amp_step.py").write_text(BEFORE)
    (check,) = _changed_lines(project, monkeypatch)
    assert check.status is Status.NOT_APPLICABLE


def test_where_the_run_died_nothing_is_known(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No coverage was saved, so the lines are not measured."""
    (project / "test_amp_step.py").write_text(TESTS + "    import os\n    os._exit(0)\n")
    (check,) = _changed_lines(project, monkeypatch)
    assert (check.status, check.evidence) == (Status.NOT_MEASURED, ())

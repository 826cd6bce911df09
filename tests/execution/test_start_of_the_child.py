"""What a tree does to be started in place of Python, pytest or torch, and what its tests can see of the gate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_hidden_tests import FINE, check, run

from verifygate.base.errors import UsageError
from verifygate.config.settings import load
from verifygate.execution.environment import Interpreter, ask
from verifygate.model import StageResult, Status
from verifygate.process.interpreter import interpreter_of
from verifygate.process.subject import Subject

LIE = "import os\nos.environ['LIED'] = '1'\n"
TEST = "import os\n\n\ndef test_nobody_was_here_before():\n    assert 'LIED' not in os.environ\n"
ENTRY = "[pytest11]\nhouse = house\n"
DIST = {"house-1.dist-info/METADATA": "Name: house\nVersion: 1\n", "house-1.dist-info/entry_points.txt": ENTRY}


@pytest.fixture(autouse=True)
def _no_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"pytest": pytest.__version__, "python": "3", "torch": "2"}
    monkeypatch.setattr("verifygate.execution.stage.ask", lambda *_: Interpreter(answers))


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"sitecustomize.py": LIE},
        {"usercustomize.py": LIE},
        {"pytest.py": LIE},
        {"pluggy/__init__.py": LIE},
        {"house.py": LIE, **DIST},
    ],
    ids=lambda files: next(iter(files)),
)
def test_a_module_of_the_tree_starts_nothing_and_is_shown(tmp_path: Path, files: dict[str, str]) -> None:
    result = run(tmp_path, {"tests/test_a.py": TEST, **files})
    assert check(result, "tests-pass").status is Status.PASS
    started = check(result, "start")
    assert (started.status, started.required) == (Status.PARTIAL, False)


@pytest.mark.slow
def test_a_torch_of_the_tree_fails(tmp_path: Path) -> None:
    started = check(run(tmp_path, {"tests/test_a.py": FINE, "torch/__init__.py": ""}), "start")
    assert (started.status, started.required) == (Status.FAIL, True)
    assert "torch/__init__.py" in started.actual


SECRET = """\
import os
import pathlib
import re


def test_the_secret_is_nowhere():
    # each process can read this of each other one of the same user; the key has 64 digits, a digest has 32
    environment = pathlib.Path("/proc/self/environ").read_bytes()
    command = pathlib.Path("/proc/self/cmdline").read_bytes()
    open_files = {name: os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
    (told,) = [name for name, path in open_files.items() if path.endswith("/stream")]
    lines = pathlib.Path(f"/proc/self/fd/{told}").read_bytes()
    assert re.search(rb"[0-9a-f]{64}", environment + command + lines) is None
    first = lines.split(b" ")[0]
    assert len(first) == 32
    assert os.path.realpath("/proc/self/fd/0") == "/dev/null"
    with open(f"/proc/self/fd/{told}", "ab") as file:
        file.write(first + b' {"event": "finish", "status": 0, "stopped": ""}\\n')
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_streams_secret_cannot_be_read_and_a_line_of_another_hand_shows(tmp_path: Path) -> None:
    """Neither the environment nor the stream's own lines have it; a line that repeats a digest is found."""
    result = run(tmp_path, {"tests/test_a.py": SECRET})
    assert check(result, "tests-pass").status is Status.NOT_MEASURED, check(result, "tests-pass").actual
    assert "1 line that the plugin did not write" in check(result, "tests-ran").actual


@pytest.mark.slow
def test_the_report_says_what_could_be_forged(tmp_path: Path) -> None:
    result: StageResult = run(tmp_path, {"tests/test_a.py": FINE})
    assert result.environment["trust"].startswith("same process: ")


LIES: dict[str, tuple[dict[str, str], str, str]] = {
    "own_rewriter": (
        {
            "conftest.py": "import ast\nfrom _pytest.assertion import rewrite\n\n\nclass Drop(ast.NodeTransformer):\n"
            "    def visit_Assert(self, node):\n        return ast.copy_location(ast.Pass(), node)\n\n\n"
            "def rewrite_asserts(module, source, path=None, config=None):\n    Drop().visit(module)\n\n\n"
            "rewrite.rewrite_asserts = rewrite_asserts\n",
        },
        "tests-ran",
        "a test made to fail was not reported as failed in tests",
    ),
    "rewriter_of_one_file": (
        {
            "conftest.py": "import ast\nfrom _pytest.assertion import rewrite\n\n\nclass Drop(ast.NodeTransformer):\n"
            "    def visit_Assert(self, node):\n        return ast.copy_location(ast.Pass(), node)\n\n\n"
            "own = rewrite.rewrite_asserts\n\n\n"
            "def rewrite_asserts(module, source, path=None, config=None):\n"
            "    if b'test_step' in source:\n        Drop().visit(module)\n    own(module, source, path, config)\n\n\n"
            "rewrite.rewrite_asserts = rewrite_asserts\n",
        },
        "tests-pass",
        "1 did not pass: tests/test_a.py::test_step",
    ),
    "failures_are_skips": (
        {"conftest.py": "import builtins\n\nimport pytest\n\nbuiltins.AssertionError = pytest.skip.Exception\n"},
        "tests-ran",
        "`AssertionError` is another class",
    ),
    "a_comparison_that_lets_all_pass": (
        {
            "conftest.py": "import pytest\n\n\nclass Anything:\n    def __init__(self, value):\n        pass\n\n"
            "    def __eq__(self, other):\n        return True\n\n\npytest.approx = Anything\n",
            "tests/test_a.py": "import pytest\n\n\ndef test_step():\n    assert 1 == pytest.approx(2)\n",
        },
        "tests-ran",
        "every folder: `pytest.approx` lets pass what it is to fail",
    ),
    "an_xfail_that_nobody_marked": (
        {
            "conftest.py": "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\n"
            "def pytest_runtest_makereport(item, call):\n"
            "    report = yield\n    if report.failed and item.name == 'test_step':\n"
            "        report.outcome, report.wasxfail = 'skipped', 'known'\n    return report\n",
        },
        "tests-pass",
        "reported as expected to fail, which nothing marks it as",
    ),
    "an_assert_in_a_thread": (
        {
            "tests/test_a.py": "import threading\n\n\ndef check():\n    assert 1 == 2\n\n\ndef test_step():\n"
            "    thread = threading.Thread(target=check)\n    thread.start()\n    thread.join()\n",
        },
        "tests-ran",
        "an assert failed in a thread, and no test failed with it",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_below_the_report_is_found(tmp_path: Path, lie: str) -> None:
    files, name, said = LIES[lie]
    result = run(tmp_path, {"tests/test_a.py": "def test_step():\n    one = 1\n    assert one == 2\n", **files})
    found = check(result, name)
    assert found.status is Status.FAIL
    assert said in found.actual


@pytest.mark.slow
def test_a_test_that_must_fail_is_asked_for_apart_from_the_project(tmp_path: Path) -> None:
    """The project's conftest is not asked; the environment's pytest is."""
    (tmp_path / "conftest.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "json.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "private").mkdir()
    found = ask(Subject(tmp_path, Path(sys.executable)), tmp_path / "private")
    assert (found.canary, found.has_pytest, found.problem) == ("1", True, "")


def test_a_pytest_that_reports_no_failure_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lying = Interpreter({"pytest": pytest.__version__}, canary="0")
    monkeypatch.setattr("verifygate.execution.stage.ask", lambda *_: lying)
    ran = check(run(tmp_path, {"tests/test_a.py": FINE}), "tests-ran")
    assert ran.status is Status.FAIL
    assert "there it ended with 0" in ran.actual


# --- the interpreter


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree under git with a virtual environment in it."""
    _git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "train.py").write_text("")
    _git(tmp_path, "add", "train.py")
    _git(tmp_path, "commit", "-qm", "one")
    binary = tmp_path / ".venv" / "bin"
    (tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "pytest").mkdir(parents=True)
    binary.mkdir()
    (binary / "python").symlink_to(sys.executable)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return tmp_path


def _git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def _settings(root: Path, **values: Any) -> Any:
    settings = load(None, root)
    return settings.model_copy(update={"execution": settings.execution.model_copy(update=values)})


def test_an_environment_that_git_does_not_keep_is_the_machines(tree: Path) -> None:
    assert interpreter_of(_settings(tree)) == tree / ".venv/bin/python"


def test_an_environment_that_came_with_the_tree_is_refused(tree: Path) -> None:
    _git(tree, "add", "-f", ".venv")
    with pytest.raises(UsageError, match="came with the audited tree: git keeps"):
        interpreter_of(_settings(tree))


def test_a_script_in_the_tree_is_no_interpreter(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(UsageError, match="is a script in the audited tree"):
        interpreter_of(_settings(tmp_path, interpreter="python"))


def test_the_policy_of_the_base_may_name_one_that_is_as_it_was(tree: Path) -> None:
    script = tree / "tools" / "python"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\nexec python3 "$@"\n')
    script.chmod(0o755)
    _git(tree, "add", "tools")
    _git(tree, "commit", "-qm", "two")
    settings = _settings(tree, interpreter="tools/python")
    with pytest.raises(UsageError, match="came with the audited tree"):
        interpreter_of(settings)
    assert interpreter_of(settings, "HEAD") == script
    script.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(UsageError, match="is not as it was"):
        interpreter_of(settings, "HEAD")

"""No command starts what a repository names for git to start: planted before it, or by the tests that it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from planted_git import FORMS, Planted, plant_all

from verifygate.cli import main

COMMANDS = {
    "check --since": ["check", "--since", "HEAD~1"],
    "run": ["run", "--stage", "static"],
    "run --since": ["run", "--stage", "static", "--stage", "security", "--since", "HEAD~1"],
    "doctor": ["doctor"],
    "sweep": ["sweep", "list.txt", "--out", "swept", "--workers", "0"],
    "baseline": ["baseline", "write"],
    "init --ci": ["init", "--force", "--ci", "github"],
}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    made = Planted(tmp_path)
    monkeypatch.chdir(made.root)
    return made


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_command_starts_what_was_planted(
    planted: Planted, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.write("list.txt", f"{planted.root}@HEAD~1\n{planted.root}\n")
    plant_all(planted, monkeypatch.setenv)

    assert main(command) in (0, 1)

    assert by_the_gate(planted) == []


def by_the_gate(planted: Planted) -> list[str]:
    """What ran, but for what pytest-benchmark starts in the project's own interpreter."""
    return [line for line in planted.has_run.splitlines() if " rev-parse --git-dir of " not in line]


SETTINGS = """\
[execution]
recorder = false
coverage = false
isolation = "off"
pytest = ["-p", "no:benchmark", "test_train.py"]  # that plugin asks git for the commit
"""
PLANTING = """\
import pathlib
import subprocess

import train


def git(*arguments):
    subprocess.run(["git", *arguments], check=True)


def test_step(tmp_path):
    assert train.STEP
    {0}
"""
HONEST = (
    'git("status"); git("log", "-p"); git("diff", "HEAD")',
    'git("init", "-q", str(tmp_path)); (tmp_path / "a").write_text("a"); git("-C", str(tmp_path), "add", "a")',
    'git("-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "a")',
)
CHANGES = {
    ".git/config": 'git("config", "core.fsmonitor", "{evil}")',
    ".git/hooks/post-index-change": 'pathlib.Path(".git/hooks/post-index-change").write_text("#!{evil}")',
    ".git/info/attributes": 'pathlib.Path(".git/info/attributes").write_text("* filter=evil")',
    ".git/objects/info/alternates": 'pathlib.Path(".git/objects/info/alternates").write_text("/nowhere")',
    ".git/refs/heads/base": 'git("update-ref", "refs/heads/base", "HEAD")',
    ".git/refs/heads/other": 'git("branch", "other")',
    ".git/HEAD": 'git("symbolic-ref", "HEAD", "refs/heads/other")',
    ".git/shallow": 'pathlib.Path(".git/shallow").write_text("")',
    "inner/.git/config": 'git("-C", "inner", "config", "core.editor", "{evil}")',
    ".git/rebase-merge/git-rebase-todo": (
        'pathlib.Path(".git/rebase-merge").mkdir()\n'
        '    pathlib.Path(".git/rebase-merge/git-rebase-todo").write_text("exec {evil}")'
    ),
}


@pytest.fixture
def tested(planted: Planted) -> Planted:
    """A project with a submodule, and a change whose base has a name."""
    FORMS["submodule"].plant(planted)
    planted.write("train.py", "import torch\n\nSTEP = 1\n")
    planted.write("other.py", "import torch\n")
    planted.write("pytest.ini", "[pytest]\npythonpath = .\n")
    planted.write("verifygate.toml", SETTINGS)
    planted.write(".gitignore", "reports/\n")
    planted.commit()
    planted.git("branch", "base")
    return planted


def unchanged(at: Planted) -> dict[str, Any]:
    report = json.loads((at.root / "reports/latest/report.json").read_text(encoding="utf-8"))
    checks = (check for stage in report["stages"] for check in stage["checks"])
    return next(check for check in checks if check["id"] == "execution.tree-unchanged")


@pytest.mark.slow
def test_what_tests_plant_is_named_and_not_started(tested: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of it blocks, on the first screen; and the next command starts none of it either."""
    tested.write("test_train.py", PLANTING.format("\n    ".join(CHANGES.values()).replace("{evil}", str(tested.evil))))
    tested.commit()
    tested.git("status")
    assert tested.has_run  # of the submodule's own configuration

    assert main(["run", "--stage", "execution", "--since", "base"]) == 1
    screen = capsys.readouterr().out
    assert main(["check", "--since", "base"]) == 0
    assert main(["doctor"]) == 0

    assert by_the_gate(tested) == []
    found = unchanged(tested)
    shown = f"git was changed, and git runs what stands there: {', '.join(sorted(CHANGES))}"
    assert (found["status"], found["actual"]) == ("FAIL", shown)
    assert shown in " ".join(screen.split())


@pytest.mark.slow
def test_a_test_that_only_looks_or_has_its_own_repository_is_honest(tested: Planted) -> None:
    tested.git("-C", "inner", "config", "--unset", "core.fsmonitor")
    tested.write("test_train.py", PLANTING.format("\n    ".join(HONEST)))
    tested.commit()
    tested.touch()

    assert main(["run", "--stage", "execution", "--since", "base"]) == 0

    assert (unchanged(tested)["status"], unchanged(tested)["actual"]) == ("PASS", "unchanged")

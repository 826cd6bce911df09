"""The floors of the house: who may import whom, and what a light command may load."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADED = """
import sys
sys.argv = ["verifygate", *{arguments}]
try:
    from verifygate.cli import main
    sys.exit(main())
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sorted(sys.modules))
"""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_imports_keep_to_the_floors():
    """Every contract in pyproject.toml holds: the stages are strangers, torch and libcst stay where they belong."""
    checked = run(Path(sysconfig.get_path("scripts"), "lint-imports"), "--no-cache")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 broken" in checked.stdout


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it is done."""
    ended = run(sys.executable, "-c", LOADED.format(arguments=arguments))
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.splitlines()[-1].split()[1:])


def test_version_loads_nothing_heavy():
    """`verifygate --version` answers without torch, libcst or pydantic, so hooks and shells get it at once."""
    found = loaded("--version")
    assert "verifygate" in found
    assert found.isdisjoint({"torch", "libcst", "pydantic"})


def test_a_command_loads_no_other_command():
    """`check` runs on every commit of somebody's: it must not grow with what the other commands need."""
    found = {name for name in loaded("check", "--help") if "verifygate.commands" in name}
    assert found == {f"verifygate.commands{name}" for name in ("", ".check", ".options")}

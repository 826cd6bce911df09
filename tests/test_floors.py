"""The floors of the house: who may import whom, and what a light command may load."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOADED = """
import sys
sys.argv = ["verifygate", "--version"]
try:
    from verifygate.cli import main
    sys.exit(main())
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_imports_keep_to_the_floors():
    """Every contract in pyproject.toml holds: the stages are strangers, torch and libcst stay where they belong."""
    checked = run(Path(sysconfig.get_path("scripts"), "lint-imports"), "--no-cache")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 broken" in checked.stdout


def test_version_loads_nothing_heavy():
    """`verifygate --version` answers without torch, libcst or pydantic, so hooks and shells get it at once."""
    ended = run(sys.executable, "-c", LOADED)
    assert ended.returncode == 0, ended.stderr
    loaded = set(ended.stdout.splitlines()[-1].split()[1:])
    assert "verifygate" in loaded
    assert loaded.isdisjoint({"torch", "libcst", "pydantic"})

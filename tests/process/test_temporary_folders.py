"""Temporary folders of the gate: whose they are, and that none outlives its owner for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a killed gate is cleaned up after on Linux only")

KILLED_AT_ONCE = """\
import os, signal
from verifygate.base.lifeline import temporary_folder
with temporary_folder(), temporary_folder():
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(code: str, temporary: Path) -> int:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode


def gone(temporary: Path) -> bool:
    """Whether the folder is empty before patience ends."""
    patience = time.monotonic() + 30
    while list(temporary.iterdir()) and time.monotonic() < patience:
        time.sleep(0.05)
    return not list(temporary.iterdir())


def test_a_gate_killed_before_its_warden_has_started_leaves_no_folder(tmp_path: Path) -> None:
    assert run(KILLED_AT_ONCE, tmp_path) == -signal.SIGKILL
    assert gone(tmp_path)

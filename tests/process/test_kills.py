"""A few kills of the campaign in kills.py, always the same ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux only")


@pytest.mark.slow
def test_kills_lose_no_report_and_leave_nothing() -> None:
    """In a process of its own: pytest's has children of other tests, and a warden that looks after them."""
    campaign = [sys.executable, str(Path(__file__).with_name("kills.py")), "--kills", "6", "--seed", "7"]
    done = subprocess.run(campaign, capture_output=True, text=True, timeout=600, check=False)
    told = [line.strip() for line in done.stdout.splitlines()]
    nothing = {"0 reports lost", "0 processes left after 2 s", "0 temporary folders after the next run"}
    assert nothing <= set(told), done.stdout + done.stderr
    assert any(line.startswith("6 kills") for line in told)
    assert done.returncode == 0

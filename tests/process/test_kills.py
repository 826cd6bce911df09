"""A few kills of the campaign in kills.py, always the same ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kills import kill_often

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux only")


@pytest.mark.slow
def test_kills_lose_and_leave_nothing(tmp_path: Path) -> None:
    found = kill_often(tmp_path, kills=6, seed=7)
    assert found.kills.total() == 6
    assert found.sound, "\n".join(found.lines())

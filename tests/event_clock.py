"""A clock for tests of time limits, which are over by what happens, and not by how busy the machine is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any


class Clock:
    """A clock by which every time limit is over as soon as a file is there: a test waits for what happens, however long
    the machine takes to get there."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def monotonic(self) -> float:
        return time.monotonic() + (1e6 if self._marker.exists() else 0.0)

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

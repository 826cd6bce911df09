"""Where the CPU time of a command goes, part by part, and its memory. What a part asks of another counts for that."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_START = "start: Python and imports"
_TOLD = 0.001
"""Seconds below which a part has no row of its own."""


class Timings:
    """Adds up CPU seconds by part. One that is off costs nothing worth telling."""

    def __init__(self, *, on: bool = True) -> None:
        self.on = on
        self.seconds: dict[str, float] = {}
        self._stack = [_START]
        self._since = 0.0  # the process's own clock starts with it

    def part(self, name: str) -> AbstractContextManager[None]:
        """Charge what runs inside to a part, and no longer to the one around it."""
        return self._charged(name) if self.on else nullcontext()

    @contextmanager
    def _charged(self, name: str) -> Iterator[None]:
        self._charge()
        self._stack.append(name)
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()

    def _charge(self) -> None:
        now = time.process_time()
        name = self._stack[-1]
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    def spent(self) -> dict[str, float]:
        """The seconds of each part so far."""
        self._charge()
        return self.seconds

    def add(self, seconds: dict[str, float]) -> None:
        """Add what another process has spent."""
        for name, spent in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def table(self) -> str:
        """A row for every part that took a millisecond, what took longest first, and for the memory at its peak."""
        self._charge()
        whole = sum(self.seconds.values())
        long = {name: seconds for name, seconds in self.seconds.items() if seconds >= _TOLD}
        rows = sorted(long.items(), key=lambda row: (-row[1], row[0]))
        if few := len(self.seconds) - len(long):
            rows.append((f"{few} more, each below {_TOLD:.3f} s", whole - sum(long.values())))
        lines = [f"{seconds:8.3f} s  {seconds / (whole or 1):6.1%}  {name}" for name, seconds in rows]
        return "\n".join([*lines, f"{whole:8.3f} s          CPU time in all", *_peak()]) + "\n"


def _peak() -> list[str]:
    """A row for the memory that one process has held at most; none where the system does not tell."""
    try:
        import resource
    except ImportError:
        return []
    largest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    held = largest / (1024**2 if sys.platform == "darwin" else 1024)
    return [f"{held:8.1f} MiB        memory at its peak"]


OFF = Timings(on=False)

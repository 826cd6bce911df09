"""Watch a process of the project until it ends or has to be ended, and end all that it started.

Output lies in files, which grow while the process runs. Its whole group is ended with it, and what left the group as
well (verifygate/process/orphans.py).
"""

from __future__ import annotations

import codecs
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from verifygate.base.regular_files import open_regular
from verifygate.process.isolation import bury
from verifygate.process.orphans import Family

HEAD_BYTES = 2 * 1024
TAIL_BYTES = 16 * 1024
GRACE_SECONDS = 3.0
POLL_SECONDS = 0.05
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
COUNT_SECONDS = 0.5
"""How often the processes of a run are counted, where their number is limited."""


class End(Enum):
    """Why a process is no longer watched."""

    OWN = "it ended by itself"
    LATE = "its time was over"
    FLOODED = "it wrote more than the gate keeps"
    CROWDED = "it had too many processes"


class Supervised:
    """A process that was started in a group of its own, with the files that its two streams go to."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        family: Family,
        outputs: tuple[Path, Path],
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self.family = family
        self.stdout, self.stderr = outputs
        self._child = child
        self._readers = tuple(_LineReader(path, tell) for path in outputs) if tell is not None else ()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._began

    @property
    def output_bytes(self) -> int:
        return self.stdout.stat().st_size + self.stderr.stat().st_size

    def watch(self, seconds: float, stop: threading.Event | None, most_processes: int | None) -> End:
        """Wait for the end; or stop the group after `seconds`, when told to, for too much output or too many processes.

        The child is not reaped here: while it is a zombie, the system cannot give its id to somebody else's group.
        """
        deadline = self._began + seconds
        count_at = time.monotonic()
        while not self._has_ended():
            end = None
            for each in self._readers:
                each.read()
            if time.monotonic() >= deadline or (stop is not None and stop.is_set()):
                end = End.LATE
            elif self.output_bytes > MAX_OUTPUT_BYTES:
                end = End.FLOODED
            elif most_processes is not None and time.monotonic() >= count_at:
                count_at = time.monotonic() + COUNT_SECONDS
                end = End.CROWDED if self.family.size > most_processes else None
            if end is not None:
                self._ask_to_end()
                return end
            time.sleep(max(0.0, min(POLL_SECONDS, deadline - time.monotonic())))
        return End.OWN

    def _ask_to_end(self) -> None:
        _signal_group(self.family.groups[-1], signal.SIGTERM)
        patience = time.monotonic() + GRACE_SECONDS
        while not self._has_ended() and time.monotonic() < patience:
            time.sleep(POLL_SECONDS)

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13: the id is free a moment earlier there
            return self._child.poll() is not None
        return os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def left_behind(self, end: End) -> tuple[str, ...]:
        """Command lines of what outlives the child. Where the group was stopped, only what had left that."""
        if end is End.OWN:
            return tuple(sorted(process.name for process in self.family.stragglers()))
        outside = [process for process in self.family.members() if process.group not in self.family.groups]
        return tuple(sorted(process.name for process in outside))

    def kill(self) -> int:
        """End whatever is left of the child's group and family, and only then reap the child. Returns its exit code."""
        for group in self.family.groups:
            _signal_group(group, signal.SIGKILL)
        if self.family.keeper:
            os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)  # only then it falls to the gate
            bury(self.family.keeper, self.family.program)
        self.family.end()
        exit_code = self._child.wait()
        for each in self._readers:
            each.read(final=True)
        return exit_code


class _LineReader:
    """Passes on what a process writes to a file, line by line, while it writes."""

    def __init__(self, path: Path, tell: Callable[[str], object]) -> None:
        self._path = path
        self._tell = tell
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def read(self, *, final: bool = False) -> None:
        """Pass on what has come since."""
        with open_regular(self._path) as file:
            file.seek(self._position)
            data = file.read(MAX_OUTPUT_BYTES)
        self._position += len(data)
        *whole, self._rest = re.split(r"\r\n|\r|\n", self._rest + self._decoder.decode(data, final))
        for line in (*whole, self._rest) if final and self._rest else whole:
            self._tell(line)


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def tail(path: Path) -> str:
    """What was written: all of it, or its first and its last bytes and how many were between them."""
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        left_out = size - HEAD_BYTES - TAIL_BYTES
        if left_out <= 0:
            file.seek(0)
            return file.read().decode("utf-8", "replace")
        file.seek(0)
        head = file.read(HEAD_BYTES).decode("utf-8", "replace")
        file.seek(-TAIL_BYTES, os.SEEK_END)
        return f"{head}\n[{left_out} bytes left out]\n{file.read().decode('utf-8', 'replace')}"

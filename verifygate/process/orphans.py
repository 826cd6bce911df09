"""Find and end what a process of the project leaves running, also where it left its group and session behind.

A daemon calls setsid, so no signal to the group reaches it. Two things lead to it all the same, on Linux: the gate
makes itself the foster parent of orphans (PR_SET_CHILD_SUBREAPER), and a run's processes inherit a variable that marks
them. Elsewhere only the group is ended, and `POSSIBLE` says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

POSSIBLE = sys.platform == "linux"
MARK = "_RUN_OF_THE_GATE"
LEAVE_SECONDS = 0.5
"""How long a process may take to end after the one that started it, before it counts as left behind."""
POLL_SECONDS = 0.05
ROUNDS = 20
NAME_CHARACTERS = 200
_PR_SET_CHILD_SUBREAPER = 36
_lock = threading.Lock()
_live: set[int] = set()
"""Process ids of the children that the gate runs right now."""
_fostering: list[None] = []
"""One entry for each run that wants orphans to be found."""


@dataclass(frozen=True)
class Process:
    """A line of the system's table of processes."""

    pid: int
    parent: int
    group: int
    session: int
    dead: bool
    started: int
    """In ticks of the system since it was booted."""

    @property
    def name(self) -> str:
        """Its command line."""
        words = _read(f"/proc/{self.pid}/cmdline").decode("utf-8", "replace").split("\0")
        return " ".join(word for word in words if word)[:NAME_CHARACTERS] or "(unnamed)"


@dataclass(frozen=True)
class Family:
    """The processes that descend from one child of the gate."""

    child: int
    mark: str
    program: int = 0
    """The program itself, where the child only started it (`sandbox.py`)."""
    keeper: int = 0
    """The first of its process ids, where they are its own; no process of the project."""
    _born: list[int] = field(default_factory=list)

    @property
    def groups(self) -> tuple[int, ...]:
        """Ids of the groups that it began with, the program's last: whoever starts one is the leader of its group."""
        return (self.child, self.program) if self.program else (self.child,)

    @property
    def size(self) -> int:
        """How many they are, with the program."""
        return len([process for process in self.members() if process.pid != self.program]) + 1

    def members(self) -> list[Process]:
        """All of them that are alive, but for the child itself. Dead ones that fell to the gate are buried."""
        if not POSSIBLE:
            return []
        table = [process for process in _table() if process.started >= self._since()]
        with _lock:
            others = _live - {self.child}
        known = {process.pid for process in table if process.pid in others}
        found = {process.pid for process in table if self._is_mine(process, alone=not others)} - known
        found |= _descendants(found | {self.child}, table)
        found.discard(self.child)
        mine = [process for process in table if process.pid in found]
        for process in mine:
            if process.dead and process.parent == os.getpid():
                with contextlib.suppress(OSError):
                    os.waitpid(process.pid, os.WNOHANG)
        return [process for process in mine if not process.dead and process.pid != self.keeper]

    def stragglers(self) -> list[Process]:
        """Those that are still there after a moment in which they could have ended by themselves."""
        patience = time.monotonic() + LEAVE_SECONDS
        while (members := self.members()) and time.monotonic() < patience:
            time.sleep(POLL_SECONDS)
        return members

    def end(self) -> None:
        """Kill them, again and again as long as new ones appear."""
        for _ in range(ROUNDS):
            members = self.members()
            if not members:
                return
            for process in members:
                with contextlib.suppress(OSError):
                    os.kill(process.pid, signal.SIGKILL)
            time.sleep(POLL_SECONDS)

    def _since(self) -> int:
        """When the child was started; it is a zombie at the latest until it is waited for, so it can be asked."""
        if not self._born and (process := _process(self.child)):
            self._born.append(process.started)
        return self._born[0] if self._born else 0

    def _is_mine(self, process: Process, *, alone: bool) -> bool:
        if process.pid == self.child:
            return False
        if process.session == self.child or process.group == self.child:
            return True
        fell_to_us = process.parent == os.getpid() and process.session != os.getsid(0)
        if alone and fell_to_us:
            return True
        return f"{MARK}={self.mark}".encode() in _read(f"/proc/{process.pid}/environ").split(b"\0")


@contextlib.contextmanager
def fostering() -> Iterator[None]:
    """While this lasts, orphans among the gate's descendants become its children, so that they can be found."""
    with _lock:
        _fostering.append(None)
        _foster(True)
    try:
        yield
    finally:
        with _lock:
            _fostering.pop()
            _foster(bool(_fostering))


@contextlib.contextmanager
def known(child: int) -> Iterator[None]:
    """While this lasts, `child` is a child that the gate started, and nobody else's leftover."""
    with _lock:
        _live.add(child)
    try:
        yield
    finally:
        with _lock:
            _live.discard(child)


def _foster(on: bool) -> None:
    if POSSIBLE:
        with contextlib.suppress(OSError, AttributeError):  # a C library without prctl: the mark still leads there
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def _table() -> list[Process]:
    with contextlib.suppress(OSError):
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [process for pid in pids if (process := _process(pid))]
    return []


def _process(pid: int) -> Process | None:
    """What the system says of one process; its name stands in brackets and may hold anything."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    state, parent, group, session = fields[0], int(fields[1]), int(fields[2]), int(fields[3])
    return Process(pid, parent, group, session, state in (b"Z", b"X"), int(fields[19]))


def _descendants(roots: set[int], table: list[Process]) -> set[int]:
    found, pending = set(roots), True
    while pending:
        more = {process.pid for process in table if process.parent in found} - found
        pending = bool(more)
        found |= more
    return found


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""

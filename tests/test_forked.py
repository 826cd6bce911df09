"""Work in forked processes: the order of the answers, and what comes of a process that breaks or is killed."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from verifygate.base.errors import UsageError
from verifygate.base.forked import can_fork, each_in_a_process

fork = os.fork
pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are not forked on this system")


@dataclass
class Work:
    """Tells the process that did it."""

    size: int
    does: str = "work"
    name: str = "the work"

    def there(self) -> tuple[int, int]:
        if self.does == "break":
            raise ValueError(self.does)
        if self.does == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.size, os.getpid()

    def here(self, told: tuple[int, int] | None) -> tuple[int, int]:
        return told or (self.size, 0)


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_answers_come_in_order_each_from_a_process_of_its_own(jobs: int):
    """Whichever ends first."""
    answers = list(each_in_a_process([Work(size) for size in (3, 9, 1, 7)], jobs))
    assert [size for size, _ in answers] == [3, 9, 1, 7]
    assert len({process for _, process in answers} - {os.getpid()}) == 4


def test_what_breaks_there_is_done_here():
    """So that this process can say why."""
    assert list(each_in_a_process([Work(1), Work(2, "break")], 2))[1] == (2, 0)


def test_a_killed_process_is_an_error_in_one_line(monkeypatch: pytest.MonkeyPatch):
    """To do it again here might end this process as well. No other process is left behind."""
    begun: list[int] = []
    monkeypatch.setattr(os, "fork", lambda: begun.append(fork()) or begun[-1])
    with pytest.raises(UsageError, match="the work: was ended by SIGKILL"):
        list(each_in_a_process([Work(1), Work(2, "die"), Work(3)], 2))
    assert begun
    for process in begun:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


def test_what_no_process_can_be_begun_for_is_done_here(monkeypatch: pytest.MonkeyPatch):
    """Where the system has no room for another one; the others go on."""
    times: list[int] = []

    def seldom() -> int:
        times.append(1)
        if len(times) % 2:
            raise OSError(errno.EAGAIN, "no room")
        return fork()

    monkeypatch.setattr(os, "fork", seldom)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    answers = list(each_in_a_process([Work(size) for size in (3, 9, 1, 7)], 2))
    assert [size for size, _ in answers] == [3, 9, 1, 7]
    assert [process == 0 for _, process in answers] == [True, True, False, False]
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def test_a_large_answer_comes_whole():
    """A pipe holds 64 KiB: its reader must not wait for the end of the writer."""

    class Large(Work):
        def there(self) -> tuple[int, int]:
            return 1 << 8_000_000, 0

    assert next(each_in_a_process([Large(1)], 1))[0].bit_length() == 8_000_001

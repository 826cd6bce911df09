"""Work in processes that are forked for it: each takes its memory with it when it ends.

What is there in this process is there in the other one, so nothing but the answer is sent. A process that only holds
syntax trees ends at once, where to free them one by one takes longer than to build them.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from verifygate.base.errors import UsageError

Told = TypeVar("Told")
Answer_co = TypeVar("Answer_co", covariant=True)


class Work(Protocol[Told, Answer_co]):
    """One piece of work."""

    size: int
    """How much it is: what is most begins first."""
    name: str

    def there(self) -> Told:
        """Do it in the other process. What it returns is sent here."""
        ...

    def here(self, told: Told | None) -> Answer_co:
        """The answer, from what the other process has sent; None where there was none, or an exception ended it."""
        ...


def can_fork() -> bool:
    """Whether this process can be forked safely: on macOS, libraries of the system break in a forked process."""
    return sys.platform == "linux"


def each_in_a_process(work: Sequence[Work[Told, Answer_co]], jobs: int) -> Iterator[Answer_co]:
    """The answers in the order of the work, of which `jobs` are under way at a time.

    Raises UsageError where a signal ended a process: to try again might end this one.
    """
    waiting = sorted(range(len(work)), key=lambda number: work[number].size)
    running: dict[int, tuple[int, int]] = {}
    """Number of the work -> process, and the pipe that it writes to."""
    told: dict[int, bytes] = {}
    try:
        for number, each in enumerate(work):
            while number not in told:
                while waiting and len(running) < jobs:
                    begun = waiting.pop()
                    under_way = _begun(work[begun])
                    if under_way is None:
                        told[begun] = b""
                    else:
                        running[begun] = under_way
                if number not in told:
                    ended = _first_to_end(running)
                    told[ended] = _read(*running.pop(ended), work[ended].name)
            data = told.pop(number)
            yield each.here(pickle.loads(data) if data else None)  # noqa: S301 - of this program's own process
    finally:
        for process, pipe in running.values():
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(pipe)


def _begun(work: Work[Told, Answer_co]) -> tuple[int, int] | None:
    """The process that does the work, and the pipe that it writes to; None where the system has no room for it."""
    reads, writes = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        process = os.fork()
    except OSError:
        os.close(reads)
        os.close(writes)
        return None
    if process:
        os.close(writes)
        return process, reads
    try:
        os.close(reads)
        data = pickle.dumps(work.there(), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(writes, "wb") as pipe:
            pipe.write(data)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _first_to_end(running: dict[int, tuple[int, int]]) -> int:
    import select

    pipes = {pipe: number for number, (_, pipe) in running.items()}
    return pipes[select.select(list(pipes), [], [])[0][0]]


def _read(process: int, pipe: int, name: str) -> bytes:
    """All that a process has written; nothing where an exception ended it."""
    with os.fdopen(pipe, "rb") as opened:
        data = opened.read()
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        by = signal.Signals(os.WTERMSIG(status)).name
        raise UsageError(
            f"was ended by {by}", where=name, remedy="give it more memory, or leave files out by `exclude`"
        )
    return data if os.waitstatus_to_exitcode(status) == 0 else b""

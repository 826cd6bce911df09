"""A limit of CPU time for one input: a machine that is busy with other things makes no hang of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 20.0


class HangError(BaseException):
    """An input took longer than any may. No handler of `Exception` in what is fuzzed swallows it."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise HangError in the block once it has used that much CPU time."""

    def over(_signal: int, _frame: object) -> None:
        raise HangError(f"more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

"""What to do about a fault of the gate's own: it costs the file or rule that it is about, and is told; tests see it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from verifygate.base.errors import VerifygateError

T = TypeVar("T")

VARIABLE = "VERIFYGATE_RAISE"
"""The environment variable with which each such fault ends the gate: set where the gate itself is tested."""


def contained(error: Exception) -> Exception:
    """An error that is kept to one file or rule. Raises it where it is a user's, or where faults are to be seen."""
    if isinstance(error, VerifygateError) or os.environ.get(VARIABLE):
        raise error
    return error


def words_of(error: Exception) -> str:
    """`RecursionError in evaluator.py:120`: what a maintainer looks for first, in one line."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" in {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place is not None else ""
    return f"{type(error).__name__}{where}"


@contextmanager
def room_for_nesting(limit: int) -> Iterator[None]:
    """Let recursion go as deep as deeply nested source needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def in_one_chunk(run: Callable[[], T]) -> T:
    """Run what recurses deeply and makes many short calls there.

    CPython keeps the frames of a thread in chunks of 16 KiB. A loop whose calls cross the end of one has the system
    hand over a chunk and take it back for each call, which costs a hundred times the call. The frame of this function
    claims so large a stack (of which no page is touched) that it gets a chunk of 4 MiB, of which half is left for what
    it calls.
    """
    return run()


in_one_chunk.__code__ = in_one_chunk.__code__.replace(co_stacksize=2 * 2**20 // tuple.__itemsize__)

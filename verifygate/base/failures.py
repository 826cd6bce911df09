"""What to do about a fault of the gate's own: it costs the file or rule that it is about, and is told; tests see it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verifygate.base.errors import VerifygateError

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

"""Pause Python's cyclic garbage collector.

Syntax trees are large, all of them in use, and without cycles: a collector that traverses them again and again while
they are built doubles the time of parsing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Disable automatic collection inside; it is as it was afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

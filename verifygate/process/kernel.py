"""Calls of the kernel for which Python has no function. Linux only."""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module that knows takes longer to load than all others
    from typing import Any


SET_DEATH_SIGNAL, SET_SECCOMP, DROP_BOUNDING, SET_NO_NEW_PRIVILEGES = 1, 22, 24, 38
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18
"""Options of `prctl` and `mount`."""
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> int:
    """What the C library's function of that name answers. Raises OSError."""
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def mount(source: str, place: str, kind: bytes | None, flags: int, options: str | None = None) -> None:
    """Raises OSError."""
    call("mount", os.fsencode(source), os.fsencode(place), kind, flags, options.encode() if options else None)

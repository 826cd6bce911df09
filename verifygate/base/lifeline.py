"""What is to be cleaned up even if the gate is killed: the processes of runs, and temporary folders.

A second process, the warden (`warden.py`), is told of each; it acts when the gate is gone. Linux only: elsewhere
nothing watches, and what a killed gate leaves stays.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from verifygate.base.owned_folders import owned, sweep, temporary_name

WARDEN = Path(__file__).with_name("warden.py")
_lock = threading.Lock()
_wardens: dict[int, subprocess.Popen[bytes]] = {}
"""The warden of this process, by its id: a forked copy starts one of its own."""


@contextlib.contextmanager
def watched(mark: str, folder: str = "") -> Iterator[None]:
    """While this lasts, the end of the gate ends the processes whose environment has `mark`, and removes `folder`."""
    _tell({"mark": mark, "folder": folder})
    try:
        yield
    finally:
        _tell({"over": mark})


@contextlib.contextmanager
def temporary_folder(kind: str = "", *, dir: str | None = None) -> Iterator[str]:  # noqa: A002 — tempfile's own name
    """A temporary folder that is removed at the end, and also where the gate is killed; what resists stays.

    The warden knows its name before it is there and until it is gone. Where the warden is killed as well, the next run
    that makes such a folder removes it (`owned_folders.py`); so the first one of a process removes what others left.
    """
    folder = temporary_name(kind, place=dir)
    sweep(folder.parent)
    with watched(f"folder={secrets.token_hex(8)}", str(folder)), owned(folder):
        yield str(folder)


def _tell(order: dict[str, str]) -> None:
    """A warden that cannot be started or is gone costs the cleaning after a kill, never the run."""
    if sys.platform != "linux":
        return
    with _lock, contextlib.suppress(OSError):
        warden = _wardens.get(os.getpid())
        if warden is None:
            warden = _wardens[os.getpid()] = subprocess.Popen(
                [sys.executable, "-I", "-S", str(WARDEN), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
                bufsize=0,
            )
            atexit.register(_dismiss, os.getpid())
        if warden.stdin is not None:
            warden.stdin.write(json.dumps(order).encode() + b"\n")


def _dismiss(gate: int) -> None:
    if gate == os.getpid() and (warden := _wardens.pop(gate, None)) and warden.stdin is not None:
        with contextlib.suppress(OSError):
            warden.stdin.close()
        warden.wait()

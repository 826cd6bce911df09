"""What a sealed copy of a process does reaches nothing, whatever it tries."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from verifygate.instrument.numerics.sealed_process import can_be_sealed, seal

pytestmark = pytest.mark.skipif(not can_be_sealed(), reason="takes Linux")


def refused(tries: dict[str, Callable[[], object]]) -> list[str]:
    """The names of what a sealed copy of this process may not do."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            seal(writing, 20)
            found = []
            for name, attempt in tries.items():
                try:
                    attempt()
                except OSError:
                    found.append(name)
            os.write(writing, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return list(json.loads(told))


def test_nothing_is_written_nor_reached(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("one\ntwo\nthree\n", encoding="ascii")
    with kept.open(encoding="ascii") as reading, kept.open("ab") as appending:
        tries: dict[str, Callable[[], object]] = {
            "write": lambda: kept.write_text("", encoding="ascii"),
            "append to an open file": lambda: os.write(appending.fileno(), b"more"),
            "remove": kept.unlink,
            "rename": lambda: kept.rename(tmp_path / "other"),
            "make": lambda: (tmp_path / "folder").mkdir(),
            "truncate": lambda: os.truncate(kept, 0),
            "network": lambda: socket.socket(),
            "start a program": lambda: subprocess.run(["/bin/true"], check=True),
            "fork": os.fork,
            "signal": lambda: os.kill(os.getppid(), 0),
        }
        may = {"read on": reading.readline, "read another file": lambda: Path(__file__).read_bytes()}
        assert refused({**tries, **may}) == list(tries)
        assert reading.readline() == "one\n"
    assert kept.read_text(encoding="ascii") == "one\ntwo\nthree\n"


def test_shared_memory_stays_as_it_is() -> None:
    """The copy dies of the attempt."""
    import torch

    shared = torch.zeros(4).share_memory_()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        seal(writing, 20)
        shared[0] = 1
        os._exit(0)
    os.close(writing)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert shared[0] == 0

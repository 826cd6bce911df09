"""What a name may stand for instead of a file."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.fspath(path))


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)

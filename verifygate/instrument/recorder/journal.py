"""Where the recorder writes: numbered events as JSON lines, bounded on disk, whole up to the death of the process.

Three kinds of files in one folder. `facts.jsonl` holds what events refer to (places, optimizers, scalers) and what is
told once. `head.jsonl` holds the first events. What comes later goes to `tail-0.jsonl` and `tail-1.jsonl` in turn: a
full one is followed by the other, begun anew, so that the last events are always there. Every event has a number, so
a gap in the numbers says how many were dropped.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

MAX_FACTS = 20_000
MAX_EVENTS = 400_000
"""Of all sections together."""
MAX_FRAMES = 6
"""Frames of the project that a place keeps, innermost first."""

_encoded = json.JSONEncoder(separators=(",", ":"), default=str).encode


class Journal:
    """The files of one run. Writing is silent in a forked child, and never raises."""

    def __init__(self, folder: Path, head: int, tail: int) -> None:
        self._folder = folder
        self._facts = _open(folder / "facts.jsonl")
        self._events = _open(folder / "head.jsonl")
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._head, self._tail = head, tail
        self._left = head
        self._tails = 0
        self._told = 0
        self._kept = 0
        self.number = 0
        """Events so far, written or dropped."""

    def fact(self, kind: str, **fields: object) -> None:
        """Write what is told once."""
        self._told += 1
        if self._told <= MAX_FACTS and os.getpid() == self._owner:
            os.write(self._facts, _line({"kind": kind, **fields}))

    def event(self, kind: str, fields: dict[str, object], *, kept: bool = False) -> int:
        """Write an event, and return its number. One to be `kept` is written where others are dropped; it is rare."""
        with self._lock:
            self.number += 1
            if os.getpid() == self._owner:
                if self._left <= 0:
                    self._turn()
                self._left -= 1
                if self._left >= 0 or kept:
                    self._kept += 1
                    os.write(self._events, _line({"n": self.number, "e": kind, **fields}))
            return self.number

    def begin(self, name: str) -> None:
        """Begin a section (a test), which has a head of its own, as long as there is room."""
        self._left = self._head if self._kept < MAX_EVENTS else 1
        self.event("section", {"name": name})

    def _turn(self) -> None:
        """Go on in the other tail; where there are none, what is left of the section is dropped."""
        if not self._tail:
            self._left = 0
            return
        if self._tails:
            os.close(self._events)
        path = self._folder / f"tail-{self._tails % 2}.jsonl"
        path.unlink(missing_ok=True)
        self._events = _open(path)
        self._tails += 1
        self._left = self._tail


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _line(value: dict[str, object]) -> bytes:
    return f"{_encoded(value)}\n".encode("ascii")


class Places:
    """Where in the project's code an event happens: the frames below the root, numbered once each."""

    def __init__(self, journal: Journal, root: Path) -> None:
        self._journal = journal
        self._root = f"{root.resolve()}{os.sep}"
        self._codes: dict[int, tuple[CodeType, int]] = {}
        self._known: dict[tuple[int, ...], int] = {}
        self._names: list[tuple[str, str]] = []

    def here(self) -> int:
        """The number of the present place; 0 where no frame is the project's own."""
        chain: list[int] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(chain) < 2 * MAX_FRAMES:
            number = self._number(frame.f_code)
            if number >= 0:
                chain += (number, frame.f_lineno)
            frame = frame.f_back
        return self._place(tuple(chain)) if chain else 0

    def frames(self, place: int) -> list[list[Any]]:
        """Path, name and line of each frame of a place, innermost first; for another process."""
        return next((self._frames(key) for key, number in self._known.items() if number == place), [])

    def of(self, frames: list[list[Any]]) -> int:
        """The number of a place that another process has seen; 0 for none."""
        chain: list[int] = []
        for path, name, line in frames:
            if (path, name) not in self._names:
                self._names.append((path, name))
            chain += (self._names.index((path, name)), line)
        return self._place(tuple(chain)) if chain else 0

    def _place(self, key: tuple[int, ...]) -> int:
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = len(self._known) + 1
            self._journal.fact("place", id=place, frames=self._frames(key))
        return place

    def _frames(self, key: tuple[int, ...]) -> list[list[Any]]:
        return [[*self._names[code], line] for code, line in zip(key[::2], key[1::2], strict=True)]

    def is_own(self, code: CodeType) -> bool:
        """Whether it is code of the project."""
        return self._number(code) >= 0

    def _number(self, code: CodeType) -> int:
        """The number of code of the project; -1 for other code."""
        known = self._codes.get(id(code))
        if known is None:  # hashing a code object is slow; holding it keeps its id from being used again
            known = self._codes[id(code)] = (code, self._named(code))
        return known[1]

    def _named(self, code: CodeType) -> int:
        name = code.co_filename
        if not name.startswith("<"):
            path = os.path.realpath(name)
            if path.startswith(self._root) and f"{os.sep}site-packages{os.sep}" not in path:
                self._names.append((path, code.co_qualname))
                return len(self._names) - 1
        return -1

"""Find the line of the project after which something is no longer as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..patching.frames import Place, caller, foreign, stack

MOST_LINES = 50_000
"""So many lines are looked at; then nobody is named."""


class LineWatch:
    """Calls `check` after every line that the project executes; lines for which it is true go to `found`."""

    def __init__(self, check: Callable[[], bool], found: Callable[[Place], None], *, once: bool) -> None:
        self._check = check
        self._found = found
        self._once = once
        self._last: Place = ("", 0)
        self._left = MOST_LINES
        self._frames: list[FrameType] = []

    def start(self) -> None:
        """Begin with the line that is being executed. Does nothing beside another tracer."""
        if sys.gettrace() is not None or self._left <= 0:
            return
        self._last = caller()
        for frame in stack(sys._getframe(1)):
            if not foreign(frame.f_code.co_filename):
                frame.f_trace = self._line
                self._frames.append(frame)
        sys.settrace(self._call)

    def stop(self) -> None:
        """End, after one last look."""
        if sys.gettrace() != self._call:
            return
        sys.settrace(None)
        for frame in self._frames:
            frame.f_trace = None
        self._frames.clear()
        if self._check():
            self._found(self._last)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return None if foreign(frame.f_code.co_filename) else self._line

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        self._left -= 1
        if self._left <= 0:
            sys.settrace(None)
            return None
        if self._check():
            self._found(self._last)
            if self._once:
                sys.settrace(None)
                return None
        back = frame.f_back
        if event == "return" and back is not None and not foreign(back.f_code.co_filename):
            self._last = (back.f_code.co_filename, back.f_lineno)
        else:
            self._last = (frame.f_code.co_filename, frame.f_lineno)
        return self._line

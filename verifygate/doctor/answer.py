"""One thing that a run needs, whether it is there, and what to do where it is not."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    """A run can work; less is shown by it."""
    FAILED = "failed"
    """A run cannot work."""


class Answer(NamedTuple):
    name: str
    state: State
    text: str
    remedy: str = ""

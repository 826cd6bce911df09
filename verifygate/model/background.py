"""What a reader of a finding is told besides: what its rule's violation does, the code around it, the fix as a diff."""

from __future__ import annotations

from verifygate.model.base import Model

IN_FULL = 200
"""Findings that have a background and are shown in full, the worst first; a page of more is not read, nor shown."""


class Impact(Model):
    """What the violation of one rule does to a training."""

    rule: str
    text: str
    """One sentence, of the rule's documentation."""


class Excerpt(Model):
    """Some lines of a file as they stood when it was read."""

    path: str
    line: int
    """Of the first one."""
    lines: tuple[str, ...]
    marked: tuple[int, ...] = ()
    """The line numbers that the finding, or its path, is about."""


class Background(Model):
    """What is told of one finding besides."""

    fingerprint: str
    excerpts: tuple[Excerpt, ...] = ()
    """Around the place, then around the calls that lead to it and the functions called."""
    diff: str = ""
    """A fix that is safe and was proven, as `git apply` reads it; empty where there is none."""

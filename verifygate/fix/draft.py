"""What a fix is before it is proven: the new bytes of one file, and the lines that may differ in them."""

from __future__ import annotations

from dataclasses import dataclass

from verifygate.config.rule_selection import ALL_RULES, RuleSelection
from verifygate.config.version_pins import VersionRange
from verifygate.model import Applicability, Finding
from verifygate.sources.tree import Sources


class CannotFixError(Exception):
    """No fix can be built here; the message says why in one line."""


@dataclass(frozen=True)
class Project:
    """What a fix may ask of the project around the file."""

    sources: Sources
    selection: RuleSelection = ALL_RULES

    def torch_for(self, path: str) -> VersionRange:
        """The versions that a file may run on: a fix writes no name into it that one of them lacks."""
        return VersionRange.of(self.selection.torch_for(path))


@dataclass(frozen=True)
class Draft:
    """A built fix of one or more findings of one rule in one file."""

    path: str
    findings: tuple[Finding, ...]
    data: bytes
    """The whole file, fixed."""
    lines: tuple[tuple[int, int], ...]
    """First and last line of each stretch of the old file that the fix may change, or insert a line at."""
    safety: Applicability

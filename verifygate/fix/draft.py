"""What a fix is before it is proven: the new bytes of one file, and the lines that may differ in them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from verifygate.model import Applicability, Finding
from verifygate.source import SourceFile, Sources

if TYPE_CHECKING:
    from verifygate.fix.tree import Tree

FIXES = {
    "AMP101": "verifygate.fix.leave_region",
    "AMP102": "verifygate.fix.leave_region",
    "AMP201": "verifygate.fix.unscale_first",
    "AMP207": "verifygate.fix.step_by_scaler",
    "AMP209": "verifygate.fix.add_update",
    "AMP302": "verifygate.fix.scaler_state",
    "AMP304": "verifygate.fix.scaler_for_half",
    "AMP501": "verifygate.fix.new_amp_api",
    "GATE102": "verifygate.fix.unused_comment",
    "PERF106": "verifygate.fix.copy_ahead",
    "PERF109": "verifygate.fix.loader_options",
    "PERF110": "verifygate.fix.keep_detached",
}
"""Code of a rule -> the module that fixes it. The module loads libcst, so it is imported when there is a finding."""


class CannotFixError(Exception):
    """No fix can be built here; the message says why in one line."""


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


class Fixer(Protocol):
    """The module of one fix."""

    TOGETHER: bool
    """Whether one draft takes all findings of a file, as imports are shared; else each finding gets its own."""

    def draft(self, tree: Tree, findings: Sequence[Finding], sources: Sources) -> Draft:
        """Build the fix of these findings. Raises CannotFixError."""


def fixer(code: str) -> Fixer:
    """The module that fixes a rule of `FIXES`."""
    return cast("Fixer", importlib.import_module(FIXES[code]))


def tree_of(file: SourceFile, *, dry: bool = False) -> Tree:
    """The file as a libcst tree; a dry one makes drafts without their text.

    Raises CannotFixError where libcst cannot read the file, or not write it back as it was.
    """
    from verifygate.fix.tree import Tree, read_module

    return Tree(file.path, read_module(file.data), dry=dry)

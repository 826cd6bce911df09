"""The fixes: which module fixes which rule, and what such a module offers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from verifygate.fix.draft import Draft
from verifygate.model import Finding
from verifygate.sources.tree import SourceFile, Sources

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

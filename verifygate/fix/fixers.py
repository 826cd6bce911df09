"""The fixes: which module fixes which rule, and what such a module offers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from verifygate.base.failures import contained, room_for_nesting, words_of
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.model import Finding
from verifygate.protocol import Violation
from verifygate.rule_codes import Hazard, SuppressionProblem
from verifygate.sources.file import SourceFile

if TYPE_CHECKING:
    from verifygate.fix.concrete_tree import Tree

FIXES: dict[str, str] = {
    Violation.BACKWARD_IN_AUTOCAST: "verifygate.fix.leave_region",
    Violation.STEP_IN_AUTOCAST: "verifygate.fix.leave_region",
    Violation.CLIP_BEFORE_UNSCALE: "verifygate.fix.unscale_first",
    Violation.STEP_BYPASSES_SCALER: "verifygate.fix.step_by_scaler",
    Violation.MISSING_UPDATE: "verifygate.fix.add_update",
    Violation.SCALER_NOT_CHECKPOINTED: "verifygate.fix.scaler_state",
    Violation.BF16_WITH_SCALER: "verifygate.fix.scaler_for_half",
    Violation.DEPRECATED_AMP_API: "verifygate.fix.new_amp_api",
    SuppressionProblem.UNUSED_SUPPRESSION: "verifygate.fix.unused_comment",
    Hazard.BLOCKING_TRANSFER: "verifygate.fix.copy_ahead",
    Hazard.LOADER_OPTIONS_INVALID: "verifygate.fix.loader_options",
    Hazard.GRAPH_RETAINED: "verifygate.fix.keep_detached",
}
"""Code of a rule -> the module that fixes it. The module loads libcst, so it is imported when there is a finding."""


RECURSION_LIMIT = 6_000
"""libcst takes some ten calls for each level of nesting, of which Python's parser allows two hundred."""


class Fixer(Protocol):
    """The module of one fix."""

    TOGETHER: bool
    """Whether one draft takes all findings of a file, as imports are shared; else each finding gets its own."""

    def draft(self, tree: Tree, findings: Sequence[Finding], project: Project) -> Draft:
        """Build the fix of these findings. Raises CannotFixError."""


def fixer(code: str) -> Fixer:
    """The module that fixes a rule of `FIXES`."""
    return cast("Fixer", importlib.import_module(FIXES[code]))


def drafted(code: str, tree: Tree, findings: Sequence[Finding], project: Project) -> Draft:
    """The fix of some findings of one rule. Raises CannotFixError, also where our own code breaks."""
    try:
        with room_for_nesting(RECURSION_LIMIT):
            return fixer(code).draft(tree, findings, project)
    except CannotFixError:
        raise
    except Exception as error:
        raise _broke(error) from error


def _broke(error: Exception) -> CannotFixError:
    return CannotFixError(f"the fix broke, which is a fault of verifygate's own: {words_of(contained(error))}")


def tree_of(file: SourceFile, *, dry: bool = False) -> Tree:
    """The file as a libcst tree; a dry one makes drafts without their text.

    Raises CannotFixError where libcst cannot read the file, or not write it back as it was.
    """
    from verifygate.fix.concrete_tree import Tree, read_module
    from verifygate.sources.notebook import NotebookFile

    if isinstance(file, NotebookFile):
        raise CannotFixError("a notebook is not written: correct the cell in its editor")
    try:
        with room_for_nesting(RECURSION_LIMIT):
            return Tree(file.path, read_module(file.data), dry=dry)
    except CannotFixError:
        raise
    except Exception as error:  # of libcst's providers, too
        raise _broke(error) from error


def draft_of(finding: Finding, project: Project) -> Draft | None:
    """The fix of one finding by itself; None where none can be built."""
    file = project.sources.get(finding.path)
    if file is None:
        return None
    try:
        return drafted(finding.rule, tree_of(file), [finding], project)
    except CannotFixError:
        return None

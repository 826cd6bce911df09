"""PERF109: take out the options for workers that a DataLoader does not have, as it has none."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from verifygate.fix.call_arguments import without_keywords
from verifygate.fix.concrete_tree import Edits, Tree
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.model import Applicability, Finding

TOGETHER = False

_OPTIONS = ("persistent_workers", "prefetch_factor", "multiprocessing_context")


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix. Safe where `num_workers=0` is written there: who left it out may have meant to have some."""
    (finding,) = findings
    call = tree.call(finding)
    dropped = [each for each in call.args if each.keyword is not None and each.keyword.value in _OPTIONS]
    if not dropped or any(argument.star for argument in call.args):
        raise CannotFixError("the options come from a dict, which may be meant for other loaders too")
    if any(tree.within(each, cst.NamedExpr) for each in dropped):
        raise CannotFixError("an option contains an assignment expression")
    if any(_is_explained(tree, call, each) for each in dropped):
        raise CannotFixError("a comment says why the option is there")
    workers = [each.value for each in call.args if each.keyword is not None and each.keyword.value == "num_workers"]
    written = bool(workers) and tree.text(workers[0]) == "0"
    edits = Edits(changes={call: without_keywords({each.keyword.value for each in dropped if each.keyword})})
    return tree.draft(edits, findings, [tree.lines(call)], Applicability.SAFE if written else Applicability.UNSAFE)


def _is_explained(tree: Tree, call: cst.Call, option: cst.Arg) -> bool:
    """Whether a comment stands on the line of an option, or above it."""
    at = list(call.args).index(option)
    before = call.args[at - 1].comma if at else call.whitespace_before_args
    space = before.whitespace_after if isinstance(before, cst.Comma) else before
    above = isinstance(space, cst.ParenthesizedWhitespace) and any(line.comment for line in space.empty_lines)
    return above or "#" in tree.module.code_for_node(option)

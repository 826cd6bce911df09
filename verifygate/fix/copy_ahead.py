"""PERF106: give the copies of a pinned batch to the GPU `non_blocking=True`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from verifygate.fix.draft import CannotFixError, Draft
from verifygate.fix.scaler_calls import loop_around
from verifygate.fix.tree import Edits, Tree, method_call, root_name
from verifygate.model import Applicability, Certainty, Finding
from verifygate.source import Sources

TOGETHER = False


def draft(tree: Tree, findings: Sequence[Finding], _sources: Sources) -> Draft:
    """Build the fix for all moves of the batch in the loop. Raises CannotFixError where the loader is at fault."""
    (finding,) = findings
    first = tree.call(finding)
    if method_call(first) is None or not _blocking(first):
        raise CannotFixError("it is the loader that does not pin its batches: see what else uses them")
    moves = [call for call in tree.within(loop_around(tree, first), cst.Call) if _alike(tree, call, first)]
    edits = Edits(changes=dict.fromkeys(moves, _ahead))
    certain = finding.certainty is Certainty.CERTAIN
    lines = [tree.lines(call) for call in moves]
    return tree.draft(edits, findings, lines, Applicability.SAFE if certain else Applicability.UNSAFE)


def _blocking(call: cst.Call) -> bool:
    words = {argument.keyword.value for argument in call.args if argument.keyword is not None}
    positional = [argument for argument in call.args if argument.keyword is None]
    plain = len(positional) <= 1 and not any(argument.star for argument in call.args)
    return plain and "non_blocking" not in words


def _alike(tree: Tree, call: cst.Call, first: cst.Call) -> bool:
    """The same move, `.to(device)` or `.cuda()`, of a part of the same batch."""
    parts, model = method_call(call), method_call(first)
    if parts is None or model is None or parts[1] != model[1] or not _blocking(call):
        return False
    if [tree.text(argument) for argument in call.args] != [tree.text(argument) for argument in first.args]:
        return False
    return _name(parts[0]) in _batch(tree, first) or call is first


def _batch(tree: Tree, call: cst.Call) -> set[str]:
    """The names that the loop gives to the batch and its parts."""
    loop = loop_around(tree, call)
    return {name.value for name in tree.within(loop.target, cst.Name)} if isinstance(loop, cst.For) else set()


def _name(node: cst.CSTNode) -> str:
    while isinstance(node, cst.Subscript):
        node = node.value
    root = root_name(node)
    return root.value if root is not None else ""


def _ahead(node: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(node, cst.Call)  # noqa: S101
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(cst.Name("True"), keyword=cst.Name("non_blocking"), equal=tight)
    if not node.args:
        return node.with_changes(args=[new])
    *others, last = node.args
    gap = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return node.with_changes(args=[*others, last.with_changes(comma=gap), new.with_changes(comma=last.comma)])

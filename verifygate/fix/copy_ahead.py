"""PERF106: give the copies of a pinned batch to the GPU `non_blocking=True`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from verifygate.fix.call_arguments import with_keyword
from verifygate.fix.concrete_tree import Edits, Tree, method_call, root_name
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.scaler_calls import loop_around
from verifygate.model import Applicability, Certainty, Finding

TOGETHER = False


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix for all moves of the batch in the loop. Raises CannotFixError where the loader is at fault."""
    (finding,) = findings
    first = tree.call(finding)
    if method_call(first) is None or not _blocking(first):
        raise CannotFixError("the loader does not pin its batches, and other code may use them")
    moves = [call for call in tree.within(loop_around(tree, first), cst.Call) if _alike(tree, call, first)]
    edits = Edits(changes=dict.fromkeys(moves, with_keyword("non_blocking", cst.Name("True"))))
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
    if _arguments(tree, call) != _arguments(tree, first):
        return False
    return _name(parts[0]) in _batch(tree, first) or call is first


def _arguments(tree: Tree, call: cst.Call) -> list[tuple[str, str]]:
    """What a move is given, however it is set."""
    return [(each.keyword.value if each.keyword is not None else "", tree.text(each.value)) for each in call.args]


def _batch(tree: Tree, call: cst.Call) -> set[str]:
    """The names that the loop, and comprehensions over the batch in it, give to the batch and its parts."""
    loop = loop_around(tree, call)
    if not isinstance(loop, cst.For):
        return set()
    names = {name.value for name in tree.within(loop.target, cst.Name)}
    for each in tree.within(loop.body, cst.CompFor):
        if _name(each.iter) in names:
            names |= {name.value for name in tree.within(each.target, cst.Name)}
    return names


def _name(node: cst.CSTNode) -> str:
    while isinstance(node, cst.Subscript):
        node = node.value
    root = root_name(node)
    return root.value if root is not None else ""

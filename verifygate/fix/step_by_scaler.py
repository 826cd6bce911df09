"""AMP207: let the scaler make the step. Unsafe: the scaler may skip it, which the code around may not expect."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from verifygate.fix.concrete_tree import Change, Edits, Tree, method_call
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.scaler_calls import calls_of, loop_around, scalers_in
from verifygate.model import Applicability, Finding

TOGETHER = False

_SCALER = re.compile(r"([\w.]+)\.(?:scale|unscale_)\(")


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix. Raises CannotFixError for a step with a closure, or where several scalers come into question."""
    (finding,) = findings
    call = tree.call(finding)
    parts = method_call(call)
    if parts is None or parts[1] != "step" or call.args:
        raise CannotFixError("the step has a closure, or is not written as `optimizer.step()`")
    scaler = _scaler(tree, finding, call)
    statement = tree.statement(call)
    edits = Edits(changes={call: _by(scaler)})
    lines = [tree.lines(call)]
    if not calls_of(tree, loop_around(tree, call), "update", scaler):
        edits.after[statement] = [tree.new_statement(f"{scaler}.update()")]
        end = tree.lines(statement)[1]
        lines.append((end, end))
    return tree.draft(edits, findings, lines, Applicability.UNSAFE)


def _by(scaler: str) -> Change:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)  # noqa: S101
        assert isinstance(node.func, cst.Attribute)  # noqa: S101
        step = node.func.with_changes(value=cst.parse_expression(scaler))
        return node.with_changes(func=step, args=[cst.Arg(node.func.value)])

    return change


def _scaler(tree: Tree, finding: Finding, call: cst.Call) -> str:
    """The scaler of the way that led here, as the same function writes it."""
    told = {match[1] for step in finding.steps if step.path == finding.path for match in _SCALER.finditer(step.text)}
    here = set(scalers_in(tree, tree.function(call)))
    if len(told & here) != 1:
        raise CannotFixError("cannot determine in this function which scaler scaled these gradients")
    return (told & here).pop()

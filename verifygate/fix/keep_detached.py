"""PERF110: keep losses without their graphs."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from verifygate.fix.concrete_tree import Edits, Tree, method_call
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.model import Applicability, Certainty, Finding, Severity

TOGETHER = False


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix.

    Safe behind a backward, which freed the graph: nobody can differentiate the sum any more. Without one the caller
    might; and a graph that `retain_graph` or `create_graph` keeps is kept for something.
    """
    (finding,) = findings
    value = _kept(tree, finding)
    code = tree.module.code
    freed = finding.severity is Severity.LOW and "retain_graph" not in code and "create_graph" not in code
    safe = freed and finding.certainty is Certainty.CERTAIN
    edits = Edits(changes={value: _detached})
    return tree.draft(
        edits, findings, [tree.lines(tree.holding(value))], Applicability.SAFE if safe else Applicability.UNSAFE
    )


def _kept(tree: Tree, finding: Finding) -> cst.BaseExpression:
    """The expression whose value is kept: what is added, or what is appended."""
    for statement in tree.at(finding, cst.AugAssign):
        return statement.value
    for assignment in tree.at(finding, cst.Assign):
        name = tree.text(assignment.targets[0].target)
        if isinstance(assignment.value, cst.BinaryOperation):
            sides = (assignment.value.left, assignment.value.right)
            others = [side for side in sides if tree.text(side) != name]
            if len(others) == 1:
                return others[0]
    for call in tree.at(finding, cst.Call):
        parts = method_call(call)
        if parts is not None and parts[1] == "append" and len(call.args) == 1 and not call.args[0].star:
            return call.args[0].value
    raise CannotFixError("cannot determine which value is stored")


def _detached(node: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(node, cst.BaseExpression)  # noqa: S101
    plain = node.lpar or isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
    if not plain:
        node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(node, cst.Name("detach")))

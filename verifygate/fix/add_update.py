"""AMP209: put `scaler.update()` after the last step of that scaler in the block."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from verifygate.fix.concrete_tree import Edits, Tree, root_name
from verifygate.fix.draft import CannotFixError, Draft
from verifygate.fix.scaler_calls import calls_of, loop_around, stepped
from verifygate.model import Applicability, Certainty, Finding
from verifygate.sources.tree import Sources

TOGETHER = False


def draft(tree: Tree, findings: Sequence[Finding], _sources: Sources) -> Draft:
    """Build the fix. Raises CannotFixError where there is an update already, or the steps lie in several blocks."""
    (finding,) = findings
    call = tree.call(finding)
    scaler, _ = stepped(tree, call)
    last = last_step(tree, call, scaler)
    if tree.within(last, cst.Return):
        raise CannotFixError("the result of the step is returned, so nothing can follow it")
    edits = Edits(after={last: [tree.new_statement(f"{scaler}.update()")]})
    end = tree.lines(last)[1]
    if isinstance(last, cst.For) and isinstance(last.body, cst.IndentedBlock):
        end += len(last.body.footer)  # comments behind the loop's last statement
    certain = finding.certainty is Certainty.CERTAIN
    return tree.draft(edits, findings, [(end, end)], Applicability.SAFE if certain else Applicability.UNSAFE)


def last_step(tree: Tree, call: cst.Call, scaler: str) -> cst.SimpleStatementLine | cst.For:
    """The statement after which the window is over: the last step of the scaler in the loop body."""
    loop = loop_around(tree, call)
    if isinstance(loop, cst.For) and _is_over_optimizers(tree, loop, call):
        if calls_of(tree, loop_around(tree, tree.parent(loop) or loop), "update", scaler):
            raise CannotFixError(f"`{scaler}.update()` is already called on some paths: which ones need it is unknown")
        return loop
    if calls_of(tree, loop, "update", scaler):
        raise CannotFixError(f"`{scaler}.update()` is already called on some paths: which ones need it is unknown")
    block = tree.block(tree.statement(call))
    statements = [tree.statement(each) for each in calls_of(tree, loop, "step", scaler) if each.args]
    if any(tree.block(statement) is not block for statement in statements):
        raise CannotFixError(f"`{scaler}` steps in several blocks: where its window ends is unknown")
    return statements[-1] if statements else tree.statement(call)


def _is_over_optimizers(tree: Tree, loop: cst.For, call: cst.Call) -> bool:
    """Whether the loop only steps one optimizer after the other: all of them share the window."""
    names = {name.value for name in tree.within(loop.target, cst.Name)}
    backward = any(calls_of(tree, loop, name) for name in ("backward", "scale"))
    return _root(call.args[0].value) in names and not backward


def _root(node: cst.BaseExpression) -> str:
    root = root_name(node)
    return root.value if root is not None else ""

"""AMP209: put `scaler.update()` after the last step of that scaler in the block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

import libcst as cst

from verifygate.fix.concrete_tree import Edits, Tree, root_name
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.scaler_calls import calls_of, loop_around, stepped
from verifygate.model import Applicability, Finding
from verifygate.sources.tree import Sources

TOGETHER = False


def draft(tree: Tree, findings: Sequence[Finding], project: Project) -> Draft:
    """Build the fix. Raises CannotFixError where there is an update already, or the steps lie in several blocks."""
    (finding,) = findings
    call = tree.call(finding)
    scaler, _ = stepped(tree, call)
    last = last_step(tree, call, scaler, project.sources)
    if tree.within(last, cst.Return):
        raise CannotFixError("the result of the step is returned, so nothing can follow it")
    edits = Edits(after={last: [tree.new_statement(f"{scaler}.update()")]})
    end = tree.lines(last)[1]
    if isinstance(last, cst.For) and isinstance(last.body, cst.IndentedBlock):
        end += len(last.body.footer)  # comments behind the loop's last statement
    return tree.draft(edits, findings, [(end, end)], Applicability.SAFE)


def last_step(tree: Tree, call: cst.Call, scaler: str, sources: Sources) -> cst.SimpleStatementLine | cst.For:
    """The statement after which the window is over: the last step of the scaler in the loop body."""
    loop = loop_around(tree, call)
    if isinstance(loop, cst.For) and _is_over_optimizers(tree, loop, call):
        if _is_updated_elsewhere(tree, call, scaler, sources):
            raise CannotFixError(f"`{scaler}.update()` is already called on some paths: which ones need it is unknown")
        return loop
    if _is_updated_elsewhere(tree, call, scaler, sources):
        raise CannotFixError(f"`{scaler}.update()` is already called on some paths: which ones need it is unknown")
    if isinstance(loop, cst.For) and _changes_with(tree, loop, call.args[0].value):
        raise CannotFixError("the loop may take another optimizer in each iteration: where its window ends is unknown")
    block = tree.block(tree.statement(call))
    statements = [tree.statement(each) for each in calls_of(tree, loop, "step", scaler) if each.args]
    if any(tree.block(statement) is not block for statement in statements):
        raise CannotFixError(f"`{scaler}` steps in several blocks: where its window ends is unknown")
    return statements[-1] if statements else tree.statement(call)


def _is_updated_elsewhere(tree: Tree, call: cst.Call, scaler: str, sources: Sources) -> bool:
    """Whether the scaler is updated anywhere that may run in the same window.

    A local name has a function around it; an attribute is reached from the whole file, and from files that name it.
    """
    if "." in scaler or "[" in scaler:
        last = re.escape(scaler.rpartition(".")[2].partition("[")[0]).encode()
        updated = re.compile(rb"(?<![\w])" + last + rb"(?:\[[^\]\n]*\])?\s*\.update\(")
        stem = PurePosixPath(tree.path).stem.encode()
        near = (file for file in sources if file.path == tree.path or (stem in file.data and b"import" in file.data))
        return any(updated.search(file.data) for file in near)
    home: cst.CSTNode = tree.module
    for here in tree.above(call):
        if isinstance(here, cst.FunctionDef):
            home = here
    return bool(calls_of(tree, home, "update", scaler))


def _changes_with(tree: Tree, loop: cst.For, optimizer: cst.BaseExpression) -> bool:
    """Whether the optimizer depends on the loop's variables, directly or through what the body assigns."""
    found = {name.value for name in tree.within(loop.target, cst.Name)}
    grown = True
    while grown:
        before = len(found)
        for assignment in tree.within(loop.body, cst.Assign):
            if _reads(tree, assignment.value, found):
                found.update(tree.text(each.target) for each in assignment.targets)
        grown = len(found) > before
    return _reads(tree, optimizer, found)


def _reads(tree: Tree, value: cst.BaseExpression, names: set[str]) -> bool:
    return any(
        tree.text(each) in names
        for kind in (cst.Name, cst.Attribute, cst.Subscript)
        for each in tree.within(value, kind)
    )


def _is_over_optimizers(tree: Tree, loop: cst.For, call: cst.Call) -> bool:
    """Whether the loop only steps one optimizer after the other: all of them share the window."""
    names = {name.value for name in tree.within(loop.target, cst.Name)}
    backward = any(calls_of(tree, loop, name) for name in ("backward", "scale"))
    return _root(call.args[0].value) in names and not backward


def _root(node: cst.BaseExpression) -> str:
    root = root_name(node)
    return root.value if root is not None else ""

"""AMP101 and AMP102: end the autocast region before the backward, or the step, that stands at the end of it.

Everything from there to the end of the block moves out of it together, so nothing changes places.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from verifygate.fix.concrete_tree import Edits, Tree, dotted, method_call
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.scaler_calls import scalers_in
from verifygate.model import Applicability, Certainty, Finding

TOGETHER = False

_HARMLESS = frozenset(
    {"backward", "scale", "zero_grad", "unscale_", "parameters", "clip_grad_norm_", "clip_grad_value_"}
)
_COMPUTING = (
    *(cst.For, cst.While, cst.With, cst.Try, cst.Return, cst.Yield, cst.ListComp, cst.Lambda),
    *(cst.MatrixMultiply, cst.Power),  # operators that autocast picks a dtype for
)


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix. Raises CannotFixError where what follows may need the region, or the region is no plain block."""
    (finding,) = findings
    entered = {step.line for step in finding.steps if step.text.startswith("enter autocast") and step.path == tree.path}
    region, block, first = _region(tree, tree.call(finding), entered)
    body = list(block.body)
    tail = body[body.index(first) :]
    if len(tail) == len(body):
        raise CannotFixError("the region would be empty: check where the loss is computed")
    scalers = set(scalers_in(tree, tree.function(region)))
    for statement in tail:
        _check(tree, statement, scalers)
    if any(line.comment for line in block.footer):
        raise CannotFixError("a comment follows the last statement of the region")
    edits = Edits(removed=set(tail), after={region: list(tail)})
    start = tree.lines(first)[0] - len(first.leading_lines)
    certain = finding.certainty is Certainty.CERTAIN
    lines = [(start, tree.lines(tail[-1])[1])]
    return tree.draft(edits, findings, lines, Applicability.SAFE if certain else Applicability.UNSAFE)


_Statement = cst.SimpleStatementLine | cst.If


def _region(tree: Tree, call: cst.Call, entered: Collection[int]) -> tuple[cst.With, cst.IndentedBlock, _Statement]:
    """The innermost `with` around a call, if it enters the region, its block, and the statement with the call in it."""
    inner: cst.CSTNode = call
    for here in tree.above(call):
        if isinstance(here, cst.FunctionDef | cst.Lambda | cst.For | cst.While | cst.Try):
            break
        if isinstance(here, cst.With):
            plain = len(here.items) == 1 and tree.lines(here)[0] in entered
            if plain and isinstance(here.body, cst.IndentedBlock) and isinstance(inner, _Statement):
                return here, here.body, inner
            break
        if isinstance(tree.parent(here), cst.IndentedBlock):
            inner = here
    raise CannotFixError("the region is not a separate `with` statement around it in this function")


def _check(tree: Tree, statement: cst.CSTNode, scalers: set[str]) -> None:
    """Refuse a statement that computes anything: the region may be there for it too."""
    computes = any(tree.within(statement, kind) for kind in _COMPUTING)
    if computes or any(not _is_harmless(tree, call, scalers) for call in tree.within(statement, cst.Call)):
        raise CannotFixError(f"line {tree.lines(statement)[0]} in the region does other work, which may need it")


def _is_harmless(tree: Tree, call: cst.Call, scalers: set[str]) -> bool:
    name = (dotted(call.func) or [parts[1] if (parts := method_call(call)) else ""])[-1]
    parts = method_call(call)
    if name in ("step", "update") and parts is not None:
        return not call.args or (tree.text(parts[0]) in scalers and len(call.args) == 1)
    return name in _HARMLESS

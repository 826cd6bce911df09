"""AMP201: put `scaler.unscale_(optimizer)` before the clip, or move it there."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from verifygate.fix.concrete_tree import Block, Edits, Tree
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.scaler_calls import calls_of, scalers_in, stepped
from verifygate.model import Applicability, Certainty, Finding

TOGETHER = False


def draft(tree: Tree, findings: Sequence[Finding], _project: Project) -> Draft:
    """Build the fix. Safe where the one step that the clip is for is plain to see; raises CannotFixError otherwise."""
    (finding,) = findings
    clip = tree.statement(tree.call(finding))
    if not any(here is clip.body[0] for here in tree.above(tree.call(finding))):
        raise CannotFixError("other statements precede the clip on its line: move it to a line of its own")
    anchor, block, home = _place(tree, clip)
    scaler, optimizer, step = _step_after(tree, block, home)
    edits = Edits()
    lines = [_inserting(tree, anchor)]
    moved = _unscale_between(tree, block, home, step, scaler, optimizer)
    if moved is None:
        edits.before[anchor] = [tree.new_statement(f"{scaler}.unscale_({optimizer})")]
    elif anchor is not home:
        raise CannotFixError(f"`{scaler}.unscale_({optimizer})` comes later, for other paths too")
    else:
        edits.removed.add(moved)
        edits.before[anchor] = [moved]
        lines.append((_with_leading(tree, anchor)[0], tree.lines(moved)[1]))
    certain = finding.certainty is Certainty.CERTAIN
    return tree.draft(edits, findings, lines, Applicability.SAFE if certain else Applicability.UNSAFE)


def _place(tree: Tree, clip: cst.SimpleStatementLine) -> tuple[cst.BaseStatement, Block, cst.BaseStatement]:
    """Where to insert, the block that holds the scaler's step, and the statement of that block around the clip.

    The insertion may stay under the `if` of the clip, as `step` unscales by itself where it was not done; but it must
    run once in a window, so it goes in front of a loop over parameters.
    """
    anchor: cst.BaseStatement = clip
    home: cst.BaseStatement = clip
    while True:
        block = tree.block(home)
        if any(_steps(tree, later) for later in _following(block, home)):
            return anchor, block, home
        outer = tree.parent(block)
        if isinstance(outer, cst.Else):
            outer = tree.parent(outer)
        while isinstance(outer, cst.If) and isinstance(tree.parent(outer), cst.If):
            outer = tree.parent(outer)  # an `elif` is an `if` in the else of the one above it
        if isinstance(outer, cst.For | cst.While):
            anchor = outer
        elif not isinstance(outer, cst.If | cst.With):
            raise CannotFixError("no `scaler.step(optimizer)` follows in a block around the clip")
        home = outer


def _following(block: Block, statement: cst.BaseStatement) -> list[cst.BaseStatement]:
    body: list[cst.BaseStatement] = list(block.body)
    return body[body.index(statement) + 1 :]


def _steps(tree: Tree, statement: cst.BaseStatement) -> list[cst.Call]:
    """The scaler steps that a statement of the block makes itself, not under a condition of their own."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return []
    scalers = scalers_in(tree, tree.function(statement)) or scalers_in(tree, tree.module)
    return [call for scaler in scalers for call in calls_of(tree, statement, "step", scaler) if call.args]


def _step_after(tree: Tree, block: Block, home: cst.BaseStatement) -> tuple[str, str, cst.Call]:
    found = [call for later in _following(block, home) for call in _steps(tree, later)]
    if len({stepped(tree, call) for call in found}) != 1:
        raise CannotFixError("ambiguous: several optimizers step after this clip")
    return (*stepped(tree, found[0]), found[0])


def _unscale_between(
    tree: Tree, block: Block, home: cst.BaseStatement, step: cst.Call, scaler: str, optimizer: str
) -> cst.SimpleStatementLine | None:
    """The `unscale_` that comes too late. Raises CannotFixError for one that cannot simply be moved."""
    last = tree.statement(step)
    for later in _following(block, home):
        if later is last:
            return None
        for call in calls_of(tree, later, "unscale_", scaler):
            if [tree.text(argument.value) for argument in call.args] != [optimizer]:
                continue
            if not isinstance(later, cst.SimpleStatementLine) or len(later.body) > 1:
                raise CannotFixError(f"`{scaler}.unscale_({optimizer})` comes later, under another condition")
            return later
    return None


def _inserting(tree: Tree, statement: cst.CSTNode) -> tuple[int, int]:
    first = _with_leading(tree, statement)[0]
    return first, first - 1


def _with_leading(tree: Tree, statement: cst.CSTNode) -> tuple[int, int]:
    """The lines of a statement with the comments and blank lines above it."""
    first, last = tree.lines(statement)
    return first - len(getattr(statement, "leading_lines", ())), last

"""Reaching definitions inside one function: which assignments of a name may give the value at a use."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import Binding, FunctionNode
from verifygate.static.syntax.traversal import LEAVES, children

_ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.AugAssign
_Place = tuple[int, tuple[int, ...], bool]
"""Which block, where in it, and whether that is the block of a loop."""
_Chain = tuple[_Place, ...]
"""The place of a statement, from the function's body inwards."""


def reaching(name: str, at: ast.AST, function: Function) -> list[Binding] | None:
    """The assignments of a local name that may hold where `at` stands; None where the function does not bind it.

    An assignment in the same block or around it, before the place, ends all earlier ones. One that comes later in the
    text counts only where a loop around both leads back.
    """
    bindings = function.scope.names.get(name)
    chains = _chains(function)
    here = chains.get(id(at))
    if not bindings or here is None:
        return None
    placed = [(binding, chains.get(id(binding.node))) for binding in bindings]
    before = [
        (chain, binding) for binding, chain in placed if chain and _line(binding.node) < _line(at) and chain != here
    ]
    ruling = max((chain for chain, _ in before if _rules(chain, here)), key=_order, default=None)
    found = []
    for binding, chain in placed:
        if chain is None:
            found.append(binding)  # a parameter
        elif chain == here and isinstance(binding.node, _ASSIGNMENTS) and not _loops_back(chain, here, ruling):
            continue  # `x = f(x)` reads what x was before
        elif chain == ruling:
            found.append(binding)
        elif _line(binding.node) < _line(at):
            if ruling is None or (_order(chain) > _order(ruling) and not _rules(chain, here)):
                found.append(binding)
        elif _loops_back(chain, here, ruling):
            found.append(binding)
    if ruling is not None:
        found = [binding for binding in found if chains.get(id(binding.node)) is not None]
    return found


def _rules(chain: _Chain, here: _Chain) -> bool:
    """Whether an assignment runs whenever the place is reached: its block is the place's own, or one around it."""
    depth = len(chain) - 1
    return (
        len(here) > depth
        and chain[:depth] == here[:depth]
        and chain[depth][0] == here[depth][0]
        and (chain[depth][1] < here[depth][1])
    )


def _loops_back(chain: _Chain, here: _Chain, ruling: _Chain | None) -> bool:
    """Whether a loop around both leads from a later assignment to the place, and the ruling one is not in that loop."""
    for depth, (mine, its) in enumerate(zip(here, chain, strict=False)):
        if mine[0] != its[0]:
            return False
        inside = ruling is not None and len(ruling) > depth and ruling[depth][0] == mine[0]
        if mine[2] and not inside:
            return True
    return False


def _order(chain: _Chain) -> tuple[tuple[int, ...], ...]:
    return tuple(index for _, index, _ in chain)


def _line(node: ast.AST) -> tuple[int, int]:
    return int(getattr(node, "lineno", 0)), int(getattr(node, "col_offset", 0))


@lru_cache(maxsize=256)
def _chains(function: Function) -> dict[int, _Chain]:
    """Node -> where it stands, for every node of the function's own body."""
    found: dict[int, _Chain] = {}
    _note(function.node.body, (), (id(function.node.body), (), False), found)
    return found


def _note(body: Sequence[ast.AST], around: _Chain, block: _Place, found: dict[int, _Chain]) -> None:
    """Note the statements of a block; the body of a `with` runs as part of the block around it."""
    whole, prefix, loop = block
    for index, statement in enumerate(body):
        place = (whole, (*prefix, index), loop)
        chain = (*around, place)
        inline: list[ast.stmt] = statement.body if isinstance(statement, ast.With | ast.AsyncWith) else []
        blocks = [
            (part, isinstance(statement, ast.For | ast.AsyncFor | ast.While) and name == "body")
            for name in ("body", "orelse", "finalbody", "handlers", "cases")
            if isinstance(part := getattr(statement, name, None), list) and part and part is not inline
        ]
        inner = {id(each) for part in (inline, *(part for part, _ in blocks)) for each in part}
        found[id(statement)] = chain
        if isinstance(statement, FunctionNode | ast.ClassDef):
            continue
        stack = [child for child in children(statement) if id(child) not in inner]
        while stack:
            node = stack.pop()
            found[id(node)] = chain
            if node.__class__ not in LEAVES:
                stack += children(node)
        _note(inline, around, place, found)
        for part, loops in blocks:
            _note(part, chain, (id(part), (), loops), found)

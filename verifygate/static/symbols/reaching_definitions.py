"""Reaching definitions inside one function: which assignments of a name may give the value at a use."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from verifygate.base.records import record
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import Binding, FunctionNode
from verifygate.static.syntax.traversal import LEAVES, children

_ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.AugAssign
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
_Place = tuple[int, tuple[int, ...], bool]
"""Which block, where in it, and whether that is the block of a loop."""
_Chain = tuple[_Place, ...]
"""The place of a statement, from the function's body inwards."""


def reaching(name: str, at: ast.AST, function: Function) -> list[Binding] | None:
    """The assignments of a local name that may hold where `at` stands; None where the function does not bind it.

    An assignment in the same block or around it, before the place, ends all earlier ones. One that comes later in the
    text counts only where a loop around both leads back.
    """
    if not function.scope.names.get(name):
        return None
    here = _places(function).of(at)
    if here is None:
        return None
    known = _definitions(function, name)
    first = bisect_left(known.lines, _line(at))
    ruling = None
    near = []
    for each in reversed(known.placed[:first]):
        if ruling is None and each.chain != here and _rules(each.chain, here):
            ruling = each.chain
        elif ruling is not None and each.chain != ruling:
            break  # and so is all that stands before it
        near.append(each)
    near.reverse()
    if _may_loop_back(here, ruling):
        near += known.placed[first:]
    counted = [each for each in near if _counts(each, at, here, ruling)]
    parameters = known.parameters if ruling is None else []
    found = [*parameters, *((each.number, each.binding) for each in counted)]
    return [binding for _, binding in sorted(found, key=lambda each: each[0])]


def _counts(each: _Placed, at: ast.AST, here: _Chain, ruling: _Chain | None) -> bool:
    """Whether what one assignment gives a name may be there, where `ruling` is the last one that always runs."""
    chain = each.chain
    if chain == here and isinstance(each.binding.node, _ASSIGNMENTS) and not _loops_back(chain, here, ruling):
        return False  # `x = f(x)` reads what x was before
    if chain == ruling:
        return True
    if _line(each.binding.node) < _line(at):
        return ruling is None or (_order(chain) > _order(ruling) and not _rules(chain, here))
    return _loops_back(chain, here, ruling)


def _may_loop_back(here: _Chain, ruling: _Chain | None) -> bool:
    """Whether an assignment further down may be met: there is a loop around, and the ruling one stands before it."""
    around = [depth for depth, (_, _, is_loop) in enumerate(here) if is_loop]
    if not around or ruling is None:
        return bool(around)
    return len(ruling) <= around[-1] or ruling[around[-1]][0] != here[around[-1]][0]


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


class _Places:
    """Where the nodes of a function's own body stand. Only statements are noted: of ten nodes, nine are parts of one.

    A part is looked for in the statements on its line, so that what is held is small enough to be kept.
    """

    def __init__(self, function: Function) -> None:
        self._chains: dict[int, _Chain] = {}
        self._statements: list[tuple[int, int, ast.AST]] = []
        """First line, last line, statement: by the first line."""
        self._note(function.node.body, (), (id(function.node.body), (), False))
        self._statements.sort(key=lambda each: each[0])
        self._first_lines = [first for first, _, _ in self._statements]

    def of(self, node: ast.AST) -> _Chain | None:
        """The place of the statement that a node is, or is a part of; None for what is no node of the body."""
        if (chain := self._chains.get(id(node))) is not None:
            return chain
        line, _ = _line(node.context_expr if isinstance(node, ast.withitem) else getattr(node, "target", node))
        for at in range(bisect_right(self._first_lines, line) - 1, -1, -1):
            _, last, statement = self._statements[at]
            if line <= last and any(each is node for each in _own_parts(statement)):
                return self._chains[id(statement)]
        return None

    def _note(self, body: Sequence[ast.AST], around: _Chain, block: _Place) -> None:
        """Note the statements of a block; the body of a `with` runs as part of the block around it."""
        whole, prefix, loop = block
        for index, statement in enumerate(body):
            place = (whole, (*prefix, index), loop)
            chain = self._chains[id(statement)] = (*around, place)
            if isinstance(statement, FunctionNode | ast.ClassDef):
                continue  # what stands in it is none of the function's own
            self._statements.append((*_lines(statement), statement))
            for name, part in _blocks(statement):
                if name == "body" and isinstance(statement, ast.With | ast.AsyncWith):
                    self._note(part, around, place)
                else:
                    loops = name == "body" and isinstance(statement, ast.For | ast.AsyncFor | ast.While)
                    self._note(part, chain, (id(part), (), loops))


_places = lru_cache(maxsize=512)(_Places)


@record
class _Placed:
    """A binding, where in the text it stands among those of its name, and the place of it."""

    number: int
    binding: Binding
    chain: _Chain


class _Definitions:
    """The bindings of one name in a function, in the order of the lines: they are asked for at each use of the name."""

    def __init__(self, function: Function, name: str) -> None:
        places = _places(function)
        found = [(number, each, places.of(each.node)) for number, each in enumerate(function.scope.names[name])]
        self.parameters = [(number, each) for number, each, chain in found if chain is None]
        placed = [_Placed(number, each, chain) for number, each, chain in found if chain is not None]
        self.placed = sorted(placed, key=lambda each: _line(each.binding.node))
        self.lines = [_line(each.binding.node) for each in self.placed]


_definitions = lru_cache(maxsize=4096)(_Definitions)


def _blocks(statement: ast.AST) -> list[tuple[str, list[ast.AST]]]:
    """The blocks of a statement, by the names of their fields."""
    parts = ((name, getattr(statement, name, None)) for name in _BLOCKS)
    return [(name, part) for name, part in parts if isinstance(part, list) and part]


def _own_parts(statement: ast.AST) -> Iterator[ast.AST]:
    """What stands in a statement, but for what stands in its blocks."""
    inner = {id(each) for _, part in _blocks(statement) for each in part}
    stack = [child for child in children(statement) if id(child) not in inner]
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ not in LEAVES:
            stack += children(node)


def _lines(statement: ast.AST) -> tuple[int, int]:
    """The first and the last line of a statement, or of the pattern and the guard of a `case`."""
    if isinstance(statement, ast.match_case):
        end = (statement.guard or statement.pattern).end_lineno
        return statement.pattern.lineno, end or statement.pattern.lineno
    first = statement.lineno  # type: ignore[attr-defined]
    return first, statement.end_lineno or first  # type: ignore[attr-defined]

"""State dicts taken by attribute name: `for name in ("model", "optimizer"): getattr(self, name).state_dict()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame, Items


@record
class NamedStates:
    """A call that takes the state of one attribute after the other, or loads it."""

    call: ast.Call
    holder: ast.expr
    """Whose attributes they are."""
    names: frozenset[str] | None
    """The attributes; None where they are not written down, as those of a checkpoint that was read."""

    def has(self, word: str) -> bool:
        """Whether a state of this kind is among them, as far as they are known."""
        return self.names is None or any(word in name.lower() for name in self.names)


def states_by_name(function: Function, method: str, roles: Roles) -> Iterator[NamedStates]:
    """The calls of `state_dict` or `load_state_dict` on what `getattr` reads by a name that a loop gives."""
    if not function.module.mentions(b"getattr("):
        return
    frame = roles.evaluator.root_frame(function)
    for read in function.calls:
        match read:
            case ast.Call(func=ast.Name(id="getattr"), args=[holder, ast.Name(id=name), *_]):
                held = _holders(read, function)
                for call in function.calls:
                    if (
                        isinstance(call.func, ast.Attribute)
                        and call.func.attr == method
                        and _is_of(call.func, read, held)
                    ):
                        yield NamedStates(call, holder, _names(name, frame, roles))


def _holders(read: ast.Call, function: Function) -> frozenset[str]:
    """The variables that hold what was read, or a part of it."""
    held: set[str] = set()
    scope = function.scope.names
    while more := {
        name
        for name, bindings in scope.items()
        for binding in bindings
        if name not in held and binding.expr is not None and _is_of(binding.expr, read, frozenset(held))
    }:
        held |= more
    return frozenset(held)


def _is_of(expr: ast.expr, read: ast.Call, held: frozenset[str]) -> bool:
    return any(node is read or (isinstance(node, ast.Name) and node.id in held) for node in walk(expr))


def _names(variable: str, frame: Frame, roles: Roles) -> frozenset[str] | None:
    """The strings that a loop gives its variable, where all of them are written down."""
    found = roles.evaluator.lookup(variable, frame)
    names: set[str] = set()
    for binding in found[0] if found else ():
        given = roles.evaluator.values(binding.expr, found[1]) if found and binding.expr is not None else ()
        for value in given:
            elements = value.elements if isinstance(value, Items) and binding.kind == "iteration" else ()
            texts = [each.value for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if not texts or len(texts) != len(elements):
                return None
            names.update(texts)
    return frozenset(names) or None

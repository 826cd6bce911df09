"""Registries: a dict that a function fills with what it is passed, as a decorator or by a call.

TRAINERS = {}

def register(name):
    def wrap(cls):
        TRAINERS[name] = cls
        return cls
    return wrap

@register("plain")
class Plain: ...
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import Bound, Contents, Frame, Literal

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


class Registries:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator

    def filled_by(self, changes: Sequence[tuple[Function, ast.AST]]) -> Contents | None:
        """What functions put into a dict, each time they are called; None where they do anything else to it."""
        items: dict[object, Bound] = {}
        for function, change in changes:
            stored = next((node for node in function.of_kind(ast.Assign) if change in node.targets), None)
            if stored is None or not isinstance(change, ast.Subscript):
                return None
            for frame in self._entered(function):
                match self._evaluator.values(change.slice, frame):
                    case (Literal(value=str() | int() as key),):
                        items[key] = Bound(stored.value, frame)
                    case _:
                        return None
        return Contents(tuple(items.values()), tuple(items)) if items else None

    def _entered(self, function: Function) -> Iterator[Frame]:
        """The function as decorators enter it, and as calls do."""
        outer = function.enclosing if function.enclosing is not None and function.enclosing.symbol else function
        for node, module in self._decorated(outer.name):
            for decorator in node.decorator_list:
                if simple_name(decorator.func if isinstance(decorator, ast.Call) else decorator) != outer.name:
                    continue
                given = ast.copy_location(ast.Name(node.name, ast.Load()), node)
                call = ast.copy_location(ast.Call(decorator, [given], []), node)
                home = self._evaluator.module_frame(module)
                for callee in self._evaluator.callees(call, home):
                    entered = self._evaluator.enter(callee, call, home) if callee.function is function else None
                    if entered is not None:
                        yield entered
        yield from self._evaluator.entries(function)

    def _decorated(self, name: str) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, Module]]:
        """The functions and classes at the top level of a file that a decorator of a name is on."""
        for module in self._evaluator.modules:
            if not module.mentions(f"@{name}".encode(), f".{name}".encode()):
                continue
            for each in module.tree.body:
                if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.decorator_list:
                    yield each, module

"""Reaching sources: the expressions whose value another expression has, one step back.

A name has the value of what it is bound to, a parameter that of its argument, an element that of what was put in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.static.symbols.generators import is_manager
from verifygate.static.symbols.scopes import Binding
from verifygate.static.values.domain import Bound, Frame, Literal, Object, given_field

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


class Sources:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator

    def of(self, expr: ast.expr, frame: Frame) -> list[Bound]:
        """What an expression has its value from; empty where that is not known."""
        evaluator = self._evaluator
        match expr:
            case ast.Name():
                found = evaluator.lookup(expr.id, frame)
                return [each for binding in found[0] for each in self.of_binding(binding, found[1])] if found else []
            case ast.Attribute():
                return list(self._of_attribute(expr, frame))
            case ast.Subscript(value=holder):
                match evaluator.values(expr.slice, frame):
                    case (Literal(value=key),):
                        element = evaluator.containers.at(holder, key, frame)
                        return [element] if element is not None else []
                return self._elements(holder, frame)
            case ast.Call():
                if (taken := frame.fixed.get(expr)) is not None:
                    return [taken]
                return list(self._returned(expr, frame))
            case ast.IfExp():
                truth = evaluator.truth(expr.test, frame)
                yes = [Bound(expr.body, frame)] if truth is not False else []
                return [*yes, Bound(expr.orelse, frame)] if truth is not True else yes
            case ast.NamedExpr() | ast.Await():
                return [Bound(expr.value, frame)]
        return []

    def of_binding(self, binding: Binding, home: Frame) -> list[Bound]:
        """What one binding gives a name."""
        containers, expr = self._evaluator.containers, binding.expr
        if binding.kind == "parameter":
            return self._evaluator.passed(binding.node.arg, home)  # type: ignore[attr-defined]
        if expr is None:
            return []
        match binding.kind:
            case "value":
                return [Bound(expr, home)]
            case "item":
                found = containers.at(expr, binding.position, home)
                return [found] if found is not None else []
            case "iteration" | "entry":
                return self._elements(expr, home, keys=binding.kind == "iteration")
            case "part":
                parts = (containers.at(each.expr, binding.position, each.frame) for each in self._elements(expr, home))
                return [each for each in parts if each is not None]
            case "context" if isinstance(expr, ast.Call):
                return list(self._yielded(expr, home))
        return []

    def _elements(self, holder: ast.expr, frame: Frame, *, keys: bool = False) -> list[Bound]:
        found = self._evaluator.containers.of(holder, frame)
        return list(found.elements) if found is not None and not (keys and found.keys is not None) else []

    def _of_attribute(self, expr: ast.Attribute, frame: Frame) -> Iterator[Bound]:
        evaluator = self._evaluator
        for value in evaluator.values(expr.value, frame):
            if (given := given_field(value, expr.attr)) is not None:
                yield given
            elif isinstance(value, Object):
                for binding, owner, made, of in evaluator.hierarchy.bindings(value, expr, frame):
                    home = evaluator.defining_frame(owner, of, value.call) if owner is not None else None
                    yield from self.of_binding(binding, home or evaluator.module_frame(made.module))

    def _returned(self, call: ast.Call, frame: Frame) -> Iterator[Bound]:
        """What the functions of the project return that a call runs."""
        for callee in self._evaluator.callees(call, frame):
            function = callee.function
            if not function.is_generator and function.name != "__init__":
                entered = self._evaluator.enter(callee, call, frame)
                yield from (Bound(each, entered) for each in function.returns if entered is not None)

    def _yielded(self, call: ast.Call, frame: Frame) -> Iterator[Bound]:
        """What a context manager gives that is a generator of the project."""
        for callee in self._evaluator.callees(call, frame):
            if is_manager(callee.function) and (entered := self._evaluator.enter(callee, call, frame)) is not None:
                yields = callee.function.of_kind(ast.Yield)
                yield from (Bound(each.value, entered) for each in yields if each.value is not None)

"""Functions that no `def` makes: a lambda, and the method of a tool that is handed over to be called later.

`scaler.update` in a list of hooks, and `functools.partial(scaler.step, optimizer)`, are eta-expanded to
`lambda: scaler.update()` and `lambda: scaler.step(optimizer)`, so that to call one is to run a function like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from verifygate import torch_names
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import UNKNOWN, Bound, ExternalName, Frame, FunctionValue, Object, given_field

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

_EVENTS = torch_names.EVENT_WORDS | torch_names.SCALER_METHODS
_MAX_ALIASES = 8
_Seen = set[tuple[ast.expr, Frame]]


class Closures:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._functions: dict[Hashable, Function] = {}

    def of_lambda(self, expr: ast.Lambda, frame: Frame) -> FunctionValue:
        """The function that a lambda makes, with the variables of the function that it stands in."""
        return FunctionValue(self._function(expr, expr, expr.args, expr.body, frame), home=frame)

    def of_methods(self, call: ast.Call, frame: Frame) -> Iterator[FunctionValue]:
        """Functions that call what a call runs, where that is a method of a tool under another name."""
        count, names = len(call.args), tuple(word.arg for word in call.keywords if word.arg is not None)
        if len(names) < len(call.keywords) or any(isinstance(each, ast.Starred) for each in call.args):
            return
        for method, home in self._all_methods(call.func, frame):
            taken = [*(f"argument{at}" for at in range(count)), *names]
            positional = [ast.Name(name, ast.Load()) for name in taken[:count]]
            named = [ast.keyword(name, ast.Name(name, ast.Load())) for name in names]
            made = ast.Call(method.func, [*method.args, *positional], [*method.keywords, *named])
            takes = ast.arguments([], [ast.arg(name) for name in taken], None, [], [], None, [])
            for node in (*positional, *(word.value for word in named), *takes.args, made):
                ast.copy_location(node, method)
            yield FunctionValue(self._function((method.func, count, names), method, takes, made, home), home=home)

    def is_method(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression is the method of a tool, perhaps with arguments bound."""
        return any(True for _ in self._methods(expr, frame, set(), _MAX_ALIASES))

    def _function(self, key: Hashable, at: ast.expr, takes: ast.arguments, gives: ast.expr, frame: Frame) -> Function:
        if (known := self._functions.get(key)) is None:
            body = ast.copy_location(ast.Return(gives), gives)
            node = ast.FunctionDef("<lambda>", takes, [body], [])
            around = frame.function
            symbol = f"{around.symbol}.<lambda:{at.lineno}:{at.col_offset}>".lstrip(".")
            known = Function(around.module, ast.copy_location(node, at), symbol, None, around)
            self._functions[key] = known
        return known

    def _all_methods(self, func: ast.expr, frame: Frame) -> list[tuple[ast.Call, Frame]]:
        """The methods of tools that a call runs under another name: what is not known of it."""
        if isinstance(func, ast.Attribute) and not self._is_field(func, frame):
            return []
        if UNKNOWN not in self._evaluator.values(func, frame):
            return []
        sources = [Bound(func, frame)] if isinstance(func, ast.Call) else self._evaluator.sources(func, frame)
        seen: _Seen = set()
        return [found for each in sources for found in self._methods(each.expr, each.frame, seen, _MAX_ALIASES)]

    def _is_field(self, func: ast.Attribute, frame: Frame) -> bool:
        """Whether an attribute is one that an object of the project, or a namespace, was given."""
        if func.attr in _EVENTS:
            return False
        values = self._evaluator.values(func.value, frame)
        return any(isinstance(value, Object) or given_field(value, func.attr) is not None for value in values)

    def _methods(self, expr: ast.expr, frame: Frame, seen: _Seen, aliases: int) -> Iterator[tuple[ast.Call, Frame]]:
        """Calls of the methods of tools that an expression may be, with the arguments that are bound already.

        What was `seen` was looked at for the same call before.
        """
        if aliases == 0 or (expr, frame) in seen:
            return
        seen.add((expr, frame))
        match expr:
            case ast.Attribute() if expr.attr in _EVENTS:
                yield ast.copy_location(ast.Call(expr, [], []), expr), frame
            case ast.Call(args=[first, *rest]) if self._is_partial(expr, frame):
                for inner, home in self._methods(first, frame, seen, aliases - 1):
                    if home is frame or not rest:
                        bound = ast.Call(inner.func, [*inner.args, *rest], [*inner.keywords, *expr.keywords])
                        yield ast.copy_location(bound, expr), home
            case _:
                for given in self._evaluator.sources(expr, frame):
                    yield from self._methods(given.expr, given.frame, seen, aliases - 1)

    def _is_partial(self, call: ast.Call, frame: Frame) -> bool:
        return self._evaluator.values(call.func, frame) == (ExternalName("functools.partial"),)

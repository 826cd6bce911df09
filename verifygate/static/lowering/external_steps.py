"""Steps of the protocol that are handed to code out of sight: a call out of sight may run them.

bus.on("before_clip", lambda: scaler.unscale_(optimizer))       # of a library
scaler.scale(loss).backward()
bus.emit("before_clip")                                         # nothing says what it runs
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children
from verifygate.static.values.domain import ExternalName, ExternalResult, Frame, Unknown
from verifygate.static.values.evaluator import Evaluator

_HOLDING = frozenset({"torch", "builtins", "copy", "typing", "collections", "functools", "itertools", "types"})
"""Modules that only hold, or call at once, what they are given."""
_ADDING = frozenset({"append", "extend", "add", "insert", "appendleft"})


def scaler_is_handed_over(modules: Iterable[Module], evaluator: Evaluator) -> bool:
    """Whether a scaler's method, or a function that calls one in another function's window, goes out of sight."""
    return any(_in_module(module, evaluator) for module in modules if module.mentions(b"caler", b"unscale_"))


def is_out_of_sight(call: ast.Call, frame: Frame, evaluator: Evaluator) -> bool:
    """Whether nothing says what a call runs, or only that it is of a library that may run what it was given."""
    return all(
        isinstance(value, Unknown | ExternalResult)
        or (isinstance(value, ExternalName) and value.name.partition(".")[0] not in _HOLDING)
        for value in evaluator.values(call.func, frame)
    )


def _in_module(module: Module, evaluator: Evaluator) -> bool:
    functions = (module.body, *module.all_functions)
    names = {function.name for function in functions if _continues_a_window(function)} - {""}
    return any(
        is_out_of_sight(call, evaluator.root_frame(function), evaluator)
        for function in functions
        for call in function.calls
        if last_name(call.func) not in _ADDING and _is_given_one_of(call, names)
    )


def _continues_a_window(function: Function) -> bool:
    """Whether a function calls a scaler's method on gradients of a backward that it does not run itself."""
    called = [call.func for call in function.calls if isinstance(call.func, ast.Attribute)]
    return any(map(_is_of_a_scaler, called)) and all(each.attr != "backward" for each in called)


def _is_given_one_of(call: ast.Call, names: set[str]) -> bool:
    """Whether a call is given a function by one of the names, a scaler's method, or a lambda that calls one."""
    return any(
        (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Attribute) and (node.attr in names or _is_of_a_scaler(node)))
        for argument in (*call.args, *(word.value for word in call.keywords))
        for node in _uncalled(argument)
    )


def _uncalled(expr: ast.AST, *, deferred: bool = False) -> Iterator[ast.AST]:
    """The parts of an expression that are not called at once; inside a lambda every part."""
    yield expr
    deferred = deferred or isinstance(expr, ast.Lambda)
    for child in children(expr):
        is_called = isinstance(expr, ast.Call) and child is expr.func and not deferred
        yield from children(child) if is_called else _uncalled(child, deferred=deferred)


def _is_of_a_scaler(attribute: ast.Attribute) -> bool:
    named = attribute.attr in ("step", "update") and "scal" in last_name(attribute.value).lower()
    return attribute.attr == "unscale_" or named

"""Autograd contexts: whether code runs with autograd off, by the contexts and decorators of its own function.

    with torch.no_grad():                 with ExitStack() as stack:
        fake = generator(noise)               stack.enter_context(quiet())    # a context manager of the project

The innermost context that says anything decides: `torch.enable_grad()` turns it on again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import StrEnum

from verifygate import torch_names
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.generators import is_manager
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.exit_stacks import stacked
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import (
    ClassValue,
    ExternalName,
    ExternalResult,
    Frame,
    FunctionValue,
    Object,
    Partial,
    Value,
)
from verifygate.static.values.evaluator import Evaluator

_SWITCH = "set_grad_enabled"
_ON = "enable_grad"
_NAMES = torch_names.NO_GRAD_CONTEXTS | {_SWITCH, _ON}
_OF_TORCH = ("torch.", "torch.autograd.", "torch.autograd.grad_mode.")
_KEEPS_AUTOGRAD = frozenset(
    {"torch", "builtins", "functools", "contextlib", "abc", "typing", "typing_extensions", "pytest", "hydra", "click"}
)
"""Packages whose decorators, but for those that turn autograd off, leave it as it is."""
_DEPTH = 2
"""Decorators that hand on what another function of the project makes are followed this deep."""


class GradMode(StrEnum):
    """What contexts and decorators do about autograd."""

    ON = "on"
    OFF = "off"
    EITHER = "either"
    """It depends on a condition or on what is not followed."""


class Decorated(StrEnum):
    """What the decorators of a function do about autograd."""

    OFF = "off"
    """One of them turns it off, or may."""
    KEPT = "kept"
    UNKNOWN = "unknown"
    """One of them is not followed."""


def grad_mode(contexts: Iterable[tuple[ast.expr, bool]], frame: Frame, evaluator: Evaluator) -> GradMode:
    """Autograd under contexts of a frame's function, innermost first; of each, whether a condition decides on it."""
    for context, is_conditional in contexts:
        mode = _of_context(context, frame, evaluator)
        if mode is not None and not (mode is GradMode.ON and is_conditional):
            return GradMode.EITHER if is_conditional else mode
    return _of_function(frame.function, evaluator)


class AutogradContexts:
    """Answers for every node."""

    def __init__(self, evaluator: Evaluator, enclosing: EnclosingNodes) -> None:
        self._evaluator = evaluator
        self._enclosing = enclosing

    def at(self, node: ast.AST, frame: Frame) -> GradMode:
        """Autograd where a node of a frame's function runs, as far as this function tells."""
        function = frame.function
        if function.module.mentions(_SWITCH.encode()) and any(map(_switches, function.of_kind(ast.Expr))):
            return GradMode.EITHER
        return grad_mode(self._around(node, function), frame, self._evaluator)

    def _around(self, node: ast.AST, function: Function) -> Iterator[tuple[ast.expr, bool]]:
        if not function.withs:
            return
        for each in self._enclosing.around(node, function):
            if isinstance(each.node, ast.With | ast.AsyncWith) and each.part == "body":
                yield from reversed(list(stacked(each.node)))
                yield from ((item.context_expr, False) for item in reversed(each.node.items))


def _of_context(context: ast.expr, frame: Frame, evaluator: Evaluator) -> GradMode | None:
    """What entering a context does; None where it leaves autograd as it is."""
    found = {_of_entered(value, frame, evaluator) for value in evaluator.values(context, frame)}
    if found == {None}:
        return GradMode.EITHER if _may_turn_off(context) else None
    yields = _yields(context, frame, evaluator)
    if max(yields, default=0) > 1 or (len(found) > 1 and not yields):
        return GradMode.EITHER  # which contexts are entered is decided by conditions
    told = found - {None}
    return told.pop() if len(told) == 1 else GradMode.EITHER


def _of_entered(value: Value, frame: Frame, evaluator: Evaluator) -> GradMode | None:
    if not isinstance(value, ExternalName | ExternalResult | Partial) or (name := _torch_name(value.name)) is None:
        return None
    calls = value.calls if isinstance(value, ExternalResult | Partial) else ()
    given = [each for call, _ in calls for each in (*call.args, *(word.value for word in call.keywords))]
    home = calls[-1][1] if calls else frame
    if name == _ON:
        return GradMode.ON
    truths = {evaluator.truth(each, home) for each in given} or {name != _SWITCH}
    if name == "no_grad" or truths == {name != _SWITCH}:
        return GradMode.OFF
    return GradMode.EITHER if None in truths else GradMode.ON


def _torch_name(name: str) -> str | None:
    """The context of torch that a qualified name means: `no_grad` of `torch.autograd.no_grad`."""
    package, _, last = name.rpartition(".")
    return last if last in _NAMES and f"{package}." in _OF_TORCH else None


def _yields(context: ast.expr, frame: Frame, evaluator: Evaluator) -> list[int]:
    """In how many places each context manager of the project yields that a call runs; one is inside all it enters."""
    callees = evaluator.callees(context, frame) if isinstance(context, ast.Call) else ()
    return [len(each.function.of_kind(ast.Yield)) for each in callees if is_manager(each.function)]


def _of_function(function: Function, evaluator: Evaluator) -> GradMode:
    """What a function's decorators do."""
    decorators = getattr(function.node, "decorator_list", ())
    if not decorators:
        return GradMode.ON
    home = _home_frame(function, evaluator)
    modes = [mode for each in decorators if (mode := _of_context(each, home, evaluator)) is not None]
    if modes:
        return modes[-1]  # the innermost
    return GradMode.EITHER if decorated(function, evaluator) is Decorated.OFF else GradMode.ON


def _switches(statement: ast.Expr) -> bool:
    return isinstance(statement.value, ast.Call) and simple_name(statement.value.func) == _SWITCH


def _home_frame(function: Function, evaluator: Evaluator) -> Frame:
    home = function.enclosing
    return evaluator.root_frame(home) if home else evaluator.module_frame(function.module)


# -- decorators ------------------------------------------------------------------------------------------------------


def decorated(function: Function, evaluator: Evaluator) -> Decorated:
    """What the decorators of a function do about autograd, also those of the project."""
    frame = _home_frame(function, evaluator)
    decorators = getattr(function.node, "decorator_list", ())
    return _strongest({_applied(each, frame, evaluator) for each in decorators})


def _strongest(found: set[Decorated]) -> Decorated:
    return next((each for each in (Decorated.OFF, Decorated.UNKNOWN) if each in found), Decorated.KEPT)


def _applied(decorator: ast.expr, frame: Frame, evaluator: Evaluator) -> Decorated:
    """What one decorator does: of a function or class of the project, by what it enters and what it hands back."""
    if _may_turn_off(decorator):
        return Decorated.OFF
    found = {_of_value(value, frame, evaluator) for value in evaluator.values(decorator, frame)}
    if not isinstance(decorator, ast.Call):
        return _strongest(found)
    made = _strongest({_of_value(value, frame, evaluator) for value in evaluator.values(decorator.func, frame)})
    return Decorated.OFF if Decorated.OFF in found else made  # what makes it is looked at with all that is inside it


def _of_value(value: Value, frame: Frame, evaluator: Evaluator) -> Decorated:
    match value:
        case FunctionValue():
            return _of_decorator(value.function, evaluator, _DEPTH)
        case Object() | ClassValue():
            own = {_of_decorator(each, evaluator, _DEPTH) for each in value.made.methods.values()}
            return Decorated.OFF if Decorated.OFF in own else Decorated.UNKNOWN
        case ExternalName() | ExternalResult() | Partial() if _of_entered(value, frame, evaluator) in _MAY_BE_OFF:
            return Decorated.OFF
        case ExternalName() | ExternalResult() if value.name.partition(".")[0] in _KEEPS_AUTOGRAD:
            return Decorated.KEPT
    return Decorated.UNKNOWN


_MAY_BE_OFF = (GradMode.OFF, GradMode.EITHER)


def _of_decorator(decorator: Function, evaluator: Evaluator, depth: int) -> Decorated:
    """Whether a decorator, or a function inside it, calls what it decorates with autograd off, or hands back such."""
    inside = [each for each in decorator.module.beside(decorator) if _is_inside(each, decorator)]
    taken = {parameter.arg for each in inside for parameter in each.parameters}
    for each in inside:
        entered = (block for block in each.withs if any(_may_turn_off(item.context_expr) for item in block.items))
        if _is_decorated_off(each) or any(_calls_one_of(taken, block) for block in entered):
            return Decorated.OFF
        given = [*each.returns, *(node.value for node in each.of_kind(ast.Assign))]
        if any(isinstance(node, ast.Call) and _may_turn_off(node.func) for expr in given for node in walk(expr)):
            return Decorated.OFF
        handed_on = [node for node in each.returns if isinstance(node, ast.Call)] if depth else []
        for call in handed_on:
            for callee in evaluator.callees(call, evaluator.root_frame(each)):
                if _of_decorator(callee.function, evaluator, depth - 1) is Decorated.OFF:
                    return Decorated.OFF
    return Decorated.KEPT


def _is_decorated_off(function: Function) -> bool:
    return any(_may_turn_off(each) for each in getattr(function.node, "decorator_list", ()))


def _calls_one_of(names: set[str], block: ast.stmt) -> bool:
    called = (node.func for node in walk(block) if isinstance(node, ast.Call))
    return any(isinstance(each, ast.Name) and each.id in names for each in called)


def _is_inside(function: Function | None, outer: Function) -> bool:
    while function is not None and function is not outer:
        function = function.enclosing
    return function is outer


def _may_turn_off(context: ast.expr) -> bool:
    """Whether a name of torch's that turns autograd off stands in an expression: it may be off, whatever is given."""
    named = {getattr(node, "attr", getattr(node, "id", "")) for node in walk(context)}
    return not named.isdisjoint(_NAMES - {_ON})

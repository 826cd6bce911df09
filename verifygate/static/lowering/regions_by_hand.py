"""Lower autocast regions that are entered without `with`: `context.__enter__()`, `stack.enter_context(context)`.

A region is followed where it is left in the same function, on every path out of it, or where it is entered outside of
every loop: else the regions that are open would differ from one iteration to the next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model import NotFollowed
from verifygate.static.lowering.context import Activation
from verifygate.static.lowering.event_graph import Enter, Leave
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.exit_stacks import stacked
from verifygate.static.syntax.traversal import walk

_JUMPS = ast.Return | ast.Break | ast.Continue
_CLOSING = frozenset({"close", "__exit__"})


def lower_by_hand(node: ast.Expr, here: Activation) -> bool:
    """Lower a statement that enters or leaves a region by hand; whether it is one."""
    call = node.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return False
    receiver, method = call.func.value, call.func.attr
    if method == "__enter__":
        return _enter(receiver, receiver, call, here)
    if method == "enter_context" and len(call.args) == 1:
        return not _is_of_a_with(call, here.frame.function) and _enter(call.args[0], receiver, call, here)
    return method in _CLOSING and _leave(receiver, call, here)


def _enter(context: ast.expr, holder: ast.expr, call: ast.Call, here: Activation) -> bool:
    """Enter a region that is left through `holder`: the context itself, or the stack that it is put on."""
    region = here.roles.region(context, here.frame)
    if region is None:
        return False
    function = here.frame.function
    leaving = list(_leaving(holder, function))
    if not (leaving or not here.builder.loops) or _is_jumped_over(leaving, function) or _is_entered(holder, function):
        place = Location(function, call)
        reason = "a region that is entered by hand, and not left on every path"
        here.context.not_followed.append(NotFollowed(path=place.path, line=place.line, reason=reason))
        return True
    here.builder.emit(Enter(region.active, region.caches), call, here.frame)
    here.context.entered_by_hand.append(here.roles.path(holder, here.frame))
    return True


def _leave(holder: ast.expr, call: ast.Call, here: Activation) -> bool:
    path = here.roles.path(holder, here.frame)
    count = here.context.entered_by_hand.count(path)
    for _ in range(count):
        here.builder.emit(Leave(), call, here.frame)
    return count > 0


def _leaving(holder: ast.expr, function: Function) -> Iterator[ast.Call]:
    """The calls of a function that leave what a context or a stack has entered."""
    text = ast.unparse(holder)
    for call in function.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CLOSING and ast.unparse(call.func.value) == text:
            yield call


def _is_jumped_over(leaving: list[ast.Call], function: Function) -> bool:
    """Whether a `finally` leaves the region and a jump out of its `try` leads there, too."""
    for node in function.of_kind(ast.Try):
        last = {inner for statement in node.finalbody for inner in walk(statement)}
        if last.intersection(leaving):
            parts = [*node.body, *node.handlers, *node.orelse]
            return any(isinstance(inner, _JUMPS) for part in parts for inner in walk(part))
    return False


def _is_entered(holder: ast.expr, function: Function) -> bool:
    """Whether a `with` enters the same context or stack, and by that leaves it."""
    text = ast.unparse(holder)
    return any(ast.unparse(item.context_expr) == text for node in function.withs for item in node.items)


def _is_of_a_with(call: ast.Call, function: Function) -> bool:
    """Whether the stack is one of a `with`, which is lowered with it."""
    contexts = {context for node in function.withs for context, _ in stacked(node)}
    if call.args[0] in contexts:
        return True
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    names = {
        item.optional_vars.id
        for node in function.withs
        for item in node.items
        if isinstance(item.optional_vars, ast.Name)
    }
    return isinstance(holder, ast.Name) and holder.id in names

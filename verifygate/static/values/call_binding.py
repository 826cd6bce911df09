"""Call binding: match the arguments of a call to the parameters of a function, also through `*args` and `**kwargs`.

What a function takes by `**kwargs` is kept under the names it was given by, and what it takes by `*args` under
positions: neither can be the name of a parameter, so both lie beside the parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verifygate.base.records import replace
from verifygate.static.values.domain import (
    Bound,
    DictLiteral,
    ExternalName,
    Frame,
    FunctionValue,
    Items,
    Object,
    Partial,
    Value,
    dict_items,
)

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

_POSITION = "*{}"


def entered_by(callee: FunctionValue, call: ast.Call, frame: Frame, evaluator: Evaluation) -> Frame:
    """A frame of its own for a function as a call enters it."""
    function = callee.function
    entered = Frame(function, caller=frame, call=call)
    if function.enclosing is not None and function.enclosing.symbol:
        home = frame.running(function.enclosing) or (callee.home and callee.home.after_loops)
        entered.enclosing = home or evaluator.root_frame(function.enclosing)
    receiver = callee.receiver if function.owner is not None and not function.is_static else None
    if receiver is not None and function.parameters:
        entered.receiver = receiver
        receivers = evaluator.values(receiver.expr, receiver.frame)
        made = {value.made: None for value in receivers if isinstance(value, Object)}
        heirs = [each for each in made if function.owner in evaluator.linearised(each)]  # the others have their own
        entered.receiver_class = heirs[0] if len(heirs) == 1 else function.owner
    hand_over((*callee.partials, (call, frame)), entered, evaluator)
    if callee.home is not None:
        bind_defaults(entered, callee.home)
    return entered


def hand_over(calls: Sequence[tuple[ast.Call, Frame]], entered: Frame, evaluator: Evaluation) -> None:
    """Bind the parameters of the function that is entered to what calls give them, each with its frame.

    Several are those of `functools.partial`, innermost first, and the call of what they made.
    """
    function, found = entered.function, entered.arguments
    if isinstance(function.node, ast.Module):
        return
    takes = function.node.args
    by_position = takes.posonlyargs + takes.args
    first = 1 if entered.receiver is not None else 0
    for number, bound in enumerate(_all_positional(calls, evaluator), first):
        if number < len(by_position):
            found[by_position[number].arg] = bound
        elif takes.vararg is not None:
            found[_POSITION.format(number - len(by_position))] = bound
    for call, frame in calls:
        if call.keywords:
            _hand_over_named(call, entered, frame, takes, evaluator)


def _hand_over_named(call: ast.Call, entered: Frame, frame: Frame, takes: ast.arguments, evaluator: Evaluation) -> None:
    found = entered.arguments
    names = None if takes.kwarg is not None else {argument.arg for argument in entered.function.parameters}
    spread = []
    for keyword in call.keywords:
        if keyword.arg is None:
            spread.append(keyword.value)
        elif names is None or keyword.arg in names:
            found[keyword.arg] = Bound(keyword.value, frame)
    for expr in spread:
        for name, bound in spread_out(expr, frame, evaluator):
            if names is None or name in names:
                found.setdefault(name, bound)


def bind_defaults(entered: Frame, home: Frame) -> None:
    """Bind the parameters that a call leaves out to their defaults, which were evaluated where the function was made.

    `lambda each=each: scaler.step(each)`, in a loop.
    """
    for each in entered.function.parameters:
        if (default := entered.function.default(each.arg)) is not None:
            entered.arguments.setdefault(each.arg, Bound(default, home))


def partially(value: Value, bound: ast.Call, frame: Frame) -> Value:
    """What `functools.partial` makes of a callable; `bound` is the call that gives it its first arguments."""
    match value:
        case ExternalName():
            return Partial(value.name, ((bound, frame),))
        case FunctionValue():
            return replace(value, partials=(*value.partials, (bound, frame)))
    return value


def passes_on(call: ast.Call) -> bool:
    """Whether a call hands on what stands in a tuple or a dict."""
    return any(map(_is_star, call.args)) or any(each.arg is None for each in call.keywords)


def _is_star(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Starred)


def _all_positional(calls: Sequence[tuple[ast.Call, Frame]], evaluator: Evaluation) -> Iterator[Bound]:
    """The positional arguments of several calls, up to the first that may stand for any number of them."""
    for call, frame in calls:
        if any(map(_is_star, call.args)):
            yield from _positional(call, frame, evaluator)
            return
        yield from (Bound(argument, frame) for argument in call.args)


def _positional(call: ast.Call, frame: Frame, evaluator: Evaluation) -> Iterator[Bound]:
    """The positional arguments, up to the first that may stand for any number of them."""
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            yield Bound(argument, frame)
            continue
        if home := _own_star(argument.value, frame, evaluator):
            names = (_POSITION.format(number) for number in range(len(home.arguments)))
            yield from (home.arguments[name] for name in names if name in home.arguments)
        else:
            values = evaluator.values(argument.value, frame)
            only = values[0]
            if len(values) != 1 or not isinstance(only, Items) or any(map(_is_star, only.elements)):
                return
            yield from (Bound(each, only.frame) for each in only.elements)
        if argument is not call.args[-1]:
            return  # who was entered from nowhere in particular may have been given more


def spread_out(expr: ast.expr, frame: Frame, evaluator: Evaluation) -> Iterator[tuple[str, Bound]]:
    """What `**expr` gives, by name, as far as it is known."""
    if home := _own_star(expr, frame, evaluator):
        own = {argument.arg for argument in home.function.parameters}
        yield from ((name, each) for name, each in home.arguments.items() if name not in own and name[0] != "*")
        return
    for value in evaluator.values(expr, frame):
        if isinstance(value, DictLiteral):
            yield from ((name, Bound(item, value.frame)) for name, item in dict_items(value.node).items())
            continue
        held = evaluator.containers.of(expr, frame)
        if held is not None and held.keys is not None:
            yield from ((str(name), each) for name, each in zip(held.keys, held.elements, strict=True))


def _own_star(expr: ast.expr, frame: Frame, evaluator: Evaluation) -> Frame | None:
    """The frame whose function takes `expr` by a star, where it is nothing else."""
    found = evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
    if found is None or len(found[0]) != 1 or isinstance(found[1].function.node, ast.Module):
        return None
    stars = found[1].function.node.args
    return found[1] if found[0][0].node in (stars.vararg, stars.kwarg) else None

"""Parameters of an optimizer: whether it steps those of a model, as far as the source shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name, turns_gradients_off
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, ExternalResult, Frame, Object, Value
from verifygate.static.values.evaluator import Evaluator

_PARAMETERS = frozenset({"parameters", "named_parameters"})
_GIVE_THE_MODEL = frozenset({"half", "to", "cuda", "cpu", "train", "eval", "requires_grad_"})
_EVALUATES = ".eval()"


def is_trained(model: str, optimizer: ast.expr, frame: Frame, evaluator: Evaluator) -> bool | None:
    """Whether `optimizer` was given parameters of what the function calls `model`; None where that cannot be told.

    A model and what is made of it count as one: `core = model.module`, `model = DistributedDataParallel(model)`.
    """
    given: set[str] = set()
    for models in _given(optimizer, frame, evaluator):
        given.update(_as_called_in(frame, each, home) for each, home in models)
        if not models:
            return None
    if "" in given:
        return None
    return any(_is_of(model, each, frame) for each in given)


def asks_another(model: str, optimizer: ast.expr, frame: Frame, evaluator: Evaluator) -> bool:
    """Whether an optimizer has what a method of another object of the project gives, as `network.groups()`.

    Whether those are parameters of the model is not known, also where the object was made of it: it may keep its own.
    """
    calls = [each for value in evaluator.values(optimizer, frame) for each in _built_by(value)]
    return bool(calls) and all(
        isinstance(call.args[0].func, ast.Attribute)
        and call.args[0].func.attr not in _PARAMETERS
        and ast.unparse(call.args[0].func.value) != model
        and any(isinstance(each, Object) for each in evaluator.values(call.args[0].func.value, home))
        if call.args and isinstance(call.args[0], ast.Call)
        else False
        for call, home in calls
    )


def takes_some(given: ast.expr, frame: Frame) -> bool:
    """Whether parameters are chosen one by one, as `p for p in model.parameters() if p.requires_grad` does."""
    exprs = [given]
    if isinstance(given, ast.Name):
        exprs += [each.expr for each in frame.function.scope.names.get(given.id, ()) if each.expr is not None]
    return any(
        (isinstance(node, ast.comprehension) and bool(node.ifs)) or (isinstance(node, ast.Name) and node.id == "filter")
        for expr in exprs
        for node in walk(expr)
    )


def takes_copies(given: ast.expr, frame: Frame) -> bool:
    """Whether new tensors are made of parameters, one by one: `[p.detach().float() for p in model.parameters()]`."""
    exprs = [given, *(_bound_to(given.id, frame) if isinstance(given, ast.Name) else ())]
    return any(
        isinstance(each, ast.ListComp | ast.GeneratorExp) and isinstance(each.elt, ast.Call)
        for expr in exprs
        for each in walk(expr)
    )


def is_built_for(model: str, function: Function, optimizer: ast.expr, frame: Frame, evaluator: Evaluator) -> bool:
    """Whether a function builds what `optimizer` is in `frame`, as far as it is known, with parameters of `model`."""
    given = [models for models in _given(optimizer, frame, evaluator) if models]
    return bool(given) and all(
        any(home.function is function and _is_of(model, ast.unparse(each), home) for each, home in models)
        for models in given
    )


def _is_of(model: str, given: str, frame: Frame) -> bool:
    return model == given or given in _made_of(model, frame) or model in _made_of(given, frame)


def _given(optimizer: ast.expr, frame: Frame, evaluator: Evaluator) -> Iterator[list[tuple[ast.expr, Frame]]]:
    """For each thing that an optimizer may be, the models whose parameters it was given, and where: none if unknown."""
    for value in evaluator.values(optimizer, frame):
        models: list[tuple[ast.expr, Frame]] = []
        for call, home in _built_by(value):
            arguments = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "params")]
            models += [(model, home) for argument in arguments for model in models_in(argument, home, evaluator)]
        yield models


def _built_by(value: Value) -> Iterator[tuple[ast.Call, Frame]]:
    """The call that made an object, with its frame."""
    match value:
        case ExternalResult(calls=[*_, (call, home)]) | Object(call=Bound(expr=ast.Call() as call, frame=home)):
            yield call, home


def is_frozen(model: str, frame: Frame) -> bool:
    """Whether the function only ever evaluates what it calls `model`."""
    calls = [
        node
        for node in frame.function.calls
        if isinstance(node.func, ast.Attribute) and ast.unparse(model_of(node.func.value)) == model
    ]
    modes = {ast.unparse(node).removeprefix(ast.unparse(node.func.value)) for node in calls}  # type: ignore[attr-defined]
    frozen = _EVALUATES in modes or any(map(turns_gradients_off, calls))
    return frozen and not any(each.startswith(".train(") for each in modes)


def models_in(expr: ast.expr, frame: Frame, evaluator: Evaluator) -> Iterator[ast.expr]:
    """What an expression, or what its names were bound to, takes parameters of."""
    queue = [expr]
    seen: set[str] = set()
    while queue:
        for node in walk(queue.pop()):
            match node:
                case ast.Call(func=ast.Attribute(value=model, attr=attr)) if attr in _PARAMETERS:
                    yield model
                case ast.Call():
                    yield from _sorted_by(node, frame, evaluator)
                case ast.Name(id=name) if name not in seen:
                    seen.add(name)
                    queue += _bound_to(name, frame)


def _sorted_by(call: ast.Call, frame: Frame, evaluator: Evaluator) -> Iterator[ast.expr]:
    """The models whose parameters a function of the project takes: `groups = without_decay(model)`."""
    for callee in evaluator.callees(call, frame):
        entered = evaluator.enter(callee, call, frame)
        for node in callee.function.calls if entered is not None else ():
            match node.func:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in _PARAMETERS:
                    if (bound := entered.arguments.get(name)) is not None:  # type: ignore[union-attr]
                        yield bound.expr


def _as_called_in(frame: Frame, model: ast.expr, home: Frame) -> str:
    """What the function of `frame` calls a model that another one was handed; empty where it has no name there.

    An attribute has one name in all methods of a class.
    """
    while home.function is not frame.function:
        if None is not home.function.owner is frame.function.owner and ast.unparse(model).startswith("self."):
            return ast.unparse(model)
        bound = home.arguments.get(model.id) if isinstance(model, ast.Name) else None
        if bound is None:
            return ""
        model, home = bound.expr, bound.frame
    return ast.unparse(model)


def _made_of(model: str, frame: Frame) -> set[str]:
    """The names that stand in what `model` was bound to, and in what those were bound to: but for a copy's."""
    found: set[str] = set()
    queue = [model]
    while queue:
        for expr in _bound_to(queue.pop(), frame):
            if isinstance(expr, ast.Call) and last_name(expr.func) == "deepcopy":
                continue
            names = {ast.unparse(node) for node in walk(expr) if isinstance(node, ast.Name | ast.Attribute)} - found
            found |= names
            queue += names
    return found


def _bound_to(name: str, frame: Frame) -> list[ast.expr]:
    """What a function binds a name to."""
    bindings = frame.function.scope.names.get(name, ())
    return [each.expr for each in bindings if each.kind == "value" and each.expr is not None]


def model_of(chain: ast.expr) -> ast.expr:
    """What a chain of calls begins with that each give the model: `model` of `model.cuda().half()`."""
    while isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute) and chain.func.attr in _GIVE_THE_MODEL:
        chain = chain.func.value
    return chain

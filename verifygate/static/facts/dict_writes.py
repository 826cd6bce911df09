"""Side effects on dicts: which parameters a function may store keys into, directly, by an alias, or in a call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum

from verifygate.static.symbols.program import Function
from verifygate.static.syntax.container_methods import PUT, SET_KEYS
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, ExternalName, Frame, FunctionValue
from verifygate.static.values.evaluator import Evaluator

READERS = frozenset(
    """print len list sorted str repr dict set tuple iter enumerate any all bool isinstance type id hash vars
    zip map filter min max sum copy deepcopy dumps dump pprint save info debug warning log""".split()  # noqa: SIM905
)
"""Functions that are handed a dict and leave its keys alone."""
_FILLING = re.compile(r"load|fill|update|merge|populate|collect|into|inplace|exec|^eval$")
_LOOKS_INTO = frozenset({"get", "setdefault", "pop", "popitem", "values", "items", "copy"})
_HANDS_ON = frozenset({"value", "item", "iteration", "entry", "context"})
"""Bindings by which a name gets what an expression is, or something in it."""


class Stands(Enum):
    """How a name stands to a parameter."""

    INSIDE = "inside"
    """It is something in it, as in `inner = settings["vision"]`."""
    SAME = "same"
    AROUND = "around"
    """It holds it, as in `both = [settings, other]`."""


def fills(call: ast.Call) -> bool:
    """Whether an outside function may put keys into a dict that it is handed, by its name: `load_state_dict(state)`."""
    return _FILLING.search(last_name(call.func).lower()) is not None


def kept_by(function: Function) -> list[tuple[str, str]]:
    """The parameters that a function keeps as they are, and in attributes of which names: `self.seen = seen`."""
    parameters = {each.arg for each in function.parameters}
    return [
        (node.value.id, target.attr)
        for node in function.of_kind(ast.Assign)
        if isinstance(node.value, ast.Name) and node.value.id in parameters
        for target in node.targets
        if isinstance(target, ast.Attribute)
    ]


Names = dict[str, set[tuple[str, Stands]]]
"""Name -> the parameters that it may stand for, hold, or be a part of."""


class Written:
    """Answers for each function once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._found: dict[Function, dict[str, bool]] = {}

    def by(self, function: Function) -> dict[str, bool]:
        """Parameter -> whether keys may be put into the dict itself (True), or only into dicts inside it (False)."""
        if function not in self._found:
            self._found[function] = {each.arg: True for each in function.parameters}  # while functions call in a circle
            names = _names_of(function)
            found: dict[str, bool] = {}
            for home, seen in [(function, names), *_closures(function, names)]:
                for expr, whole in self._writes(home, seen):
                    for parameter, stands in _reaches(expr, seen):
                        itself = stands is Stands.AROUND or (whole and stands is Stands.SAME)
                        found[parameter] = found.get(parameter, False) or itself
                found.update((parameter, True) for parameter in self._held(home, seen))
            self._found[function] = found
        return self._found[function]

    def _writes(self, function: Function, names: Names) -> Iterator[tuple[ast.expr, bool]]:
        """Each expression that keys are put into, and whether into itself or only into what is in it."""
        for node in _nodes(function):
            match node:
                case ast.Subscript(ctx=ast.Store() | ast.Del()):
                    yield node.value, True
                case ast.AugAssign(op=ast.BitOr()):
                    yield node.target, True
                case ast.Call():
                    if (
                        isinstance(node.func, ast.Attribute)
                        and node.func.attr in SET_KEYS
                        and (node.args or node.keywords)
                    ):
                        yield node.func.value, True
                    yield from self._handed(node, function, names)

    def _handed(self, call: ast.Call, function: Function, names: Names) -> Iterator[tuple[ast.expr, bool]]:
        given = [*call.args, *(word.value for word in call.keywords)]
        if last_name(call.func) in READERS or not any(True for each in given for _ in _reaches(each, names)):
            return
        frame = self.evaluator.root_frame(function)
        callees = self.evaluator.values(call.func, frame)
        if all(isinstance(value, ExternalName) for value in callees) and not fills(call):
            if runs_a_function(call, frame, self.evaluator):
                yield from ((each, True) for each in given)
            return
        own = self.evaluator.callees(call, frame)
        for callee in own:
            entered = self.evaluator.enter(callee, call, frame)
            written = self.by(callee.function)
            for name, bound in entered.arguments.items() if entered else ():
                if (itself := reached_as(name, callee.function, written)) is not None:
                    yield bound.expr, itself
            if written:
                yield from ((word.value, False) for word in call.keywords if word.arg is None)
        if not own:
            yield from ((each, True) for each in given)

    def _held(self, function: Function, names: Names) -> Iterator[str]:
        """The parameters that objects hold from then on, other than as an attribute of one name: whoever has the

        object may put keys into them. `self.parts[name] = part`, `self.rows.append(row)`, `self.part = Part(row)`.
        """
        frame, stars = self.evaluator.root_frame(function), _stars(function)
        for kept in _stored(function):
            for part in self._parts(kept, frame):
                for parameter, stands in _reaches(part, names):
                    if stands is not Stands.INSIDE or parameter in stars:
                        yield parameter

    def _parts(self, expr: ast.expr, frame: Frame) -> Iterator[ast.expr]:
        """An expression, or what objects of the project are made of that it makes."""
        if not isinstance(expr, ast.Call):
            yield expr
        elif any(isinstance(each, ClassValue) for each in self.evaluator.values(expr.func, frame)):
            for inside in (*expr.args, *(word.value for word in expr.keywords)):
                yield from self._parts(inside, frame)


def runs_a_function(call: ast.Call, frame: Frame, evaluator: Evaluator) -> bool:
    """Whether a call hands over a function of the project: `Thread(target=work, args=(found,))`, `partial(fill, d)`."""
    return any(
        isinstance(given, ast.Lambda) or any(isinstance(each, FunctionValue) for each in evaluator.values(given, frame))
        for given in (*call.args, *(word.value for word in call.keywords))
        if isinstance(given, ast.Name | ast.Attribute | ast.Lambda)
    )


def reached_as(name: str, function: Function, written: dict[str, bool]) -> bool | None:
    """Whether keys are put into what is given under a name, or only into dicts inside it; None where neither is.

    What a function takes by `**parts` or `*parts` is inside of that.
    """
    if name in written or name in {each.arg for each in function.parameters}:
        return written.get(name)
    return True if written.keys() & _stars(function) else None


def _stars(function: Function) -> set[str]:
    takes = getattr(function.node, "args", None)
    return {each.arg for each in (takes.vararg, takes.kwarg) if each is not None} if takes is not None else set()


def _nodes(function: Function) -> Iterator[ast.AST]:
    """Its own nodes, and those of its lambdas."""
    yield from function.own_nodes
    for node in function.of_kind(ast.Lambda):
        yield from walk(node.body)


def _closures(function: Function, names: Names) -> Iterator[tuple[Function, Names]]:
    """The functions inside a function, at any depth, and what their names have to do with its parameters."""
    for inner in function.module.beside(function) if function.symbol else ():
        if inner.enclosing is function and inner.owner is None:
            own = inner.scope.names
            seen = {name: stands for name, stands in names.items() if name not in own or name in inner.scope.outer}
            seen = _names_of(inner, seen)
            yield inner, seen
            yield from _closures(inner, seen)


def _stored(function: Function) -> Iterator[ast.expr]:
    """What is put into attributes and containers, but for a variable that becomes an attribute as it is."""
    stars = _stars(function)
    for node in _nodes(function):
        match node:
            case (
                ast.Assign(targets=[ast.Attribute()], value=value) | ast.AnnAssign(target=ast.Attribute(), value=value)
            ):
                if value is not None and (not isinstance(value, ast.Name) or value.id in stars):
                    yield value
            case ast.Assign(targets=[ast.Subscript(value=holder)], value=value):
                if not _is_local(holder, function):
                    yield value
            case ast.Call(func=ast.Attribute(value=holder, attr=attr)) if attr in PUT:
                if not _is_local(holder, function):
                    yield from node.args
                    yield from (word.value for word in node.keywords)


def _is_local(holder: ast.expr, function: Function) -> bool:
    """Whether it is a variable of the function, which it makes itself."""
    if not isinstance(holder, ast.Name) or holder.id in function.scope.outer:
        return False
    return any(each.kind == "value" for each in function.scope.names.get(holder.id, ()))


def _names_of(function: Function, around: Names | None = None) -> Names:
    """What the names in a function have to do with its parameters, or with those of the function around it."""
    names: Names = dict(around or {})
    if around is None:
        takes = {parameter.arg for parameter in function.parameters} | _stars(function)
        names = {parameter: {(parameter, Stands.SAME)} for parameter in takes}
    given = [
        (name, binding.expr, _reaches if binding.kind == "value" else _inside)
        for name, bindings in function.scope.names.items()
        for binding in bindings
        if binding.kind in _HANDS_ON and binding.expr is not None
    ]
    before = -1
    while before != (before := sum(map(len, names.values()))):
        for name, expr, look in given:
            if found := set(look(expr, names)):
                names.setdefault(name, set()).update(found)
    return names


def _reaches(expr: ast.expr, names: Names) -> Iterator[tuple[str, Stands]]:
    """The parameters that an expression may be, hold or be a part of."""
    match expr:
        case ast.Name():
            yield from names.get(expr.id, ())
        case ast.Subscript() | ast.Attribute() | ast.Starred():
            yield from _inside(expr.value, names)
        case ast.NamedExpr() | ast.Await():
            yield from _reaches(expr.value, names)
        case ast.IfExp():
            yield from _reaches(expr.body, names)
            yield from _reaches(expr.orelse, names)
        case ast.BoolOp():
            for part in expr.values:
                yield from _reaches(part, names)
        case ast.List(elts=held) | ast.Tuple(elts=held) | ast.Set(elts=held) | ast.Dict(values=held):
            for part in held:
                yield from ((parameter, Stands.AROUND) for parameter, _ in _reaches(part, names))
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in _LOOKS_INTO:
            yield from _inside(expr.func.value, names)  # type: ignore[attr-defined]
        case ast.Call() if last_name(expr.func) in READERS:
            for argument in expr.args:
                yield from _inside(argument, names)
        case ast.Call(func=called) if last_name(called) == "reduce":
            for argument in expr.args:  # `reduce(getitem, keys, settings)`: something in it, or all of it
                yield from _reaches(argument, names)


def _inside(expr: ast.expr, names: Names) -> Iterator[tuple[str, Stands]]:
    """The same of something in what `expr` is."""
    for parameter, stands in _reaches(expr, names):
        yield parameter, Stands.AROUND if stands is Stands.AROUND else Stands.INSIDE

"""Loops over collections of optimizers: which elements they iterate over, and first/last-iteration predicates."""

from __future__ import annotations

import ast
from functools import lru_cache

from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath, Root
from verifygate.static.values.domain import Frame, Literal

_MAX_NAMES = 8
Loop = ast.For | ast.AsyncFor
_FILTERED = ast.ListComp | ast.SetComp | ast.GeneratorExp


def iterated_collections(loop: Loop, frame: Frame, roles: Roles) -> list[AccessPath]:
    """The collections of optimizers of which each iteration of the loop is about one element.

    It is by the variable of the loop (`for o in optimizers`), or by what it is the key of (`optimizers[name]`), also
    where the key is worked out of it (`optimizers[str(axis)]`): then no two iterations are taken to share one.
    """
    names = [part for part in walk(loop.target) if isinstance(part, ast.Name)]
    keys = {name.id for name in names}
    stepped, subscripts = _stepped(loop)
    bound = {node.value for node in walk(loop) if isinstance(node, ast.Assign) and _binds_one_of(stepped, node)}
    parts: list[ast.expr] = [name for name in names if _is_element(name, frame, roles, name.id in stepped)]
    if not parts:
        parts = [
            node
            for node in subscripts
            if any(isinstance(part, ast.Name) and part.id in keys for part in walk(node.slice))
            and _is_element(node, frame, roles, node in bound)
        ]
    return list(dict.fromkeys(roles.object(part, frame) for part in parts))


def is_keyed_by(loop: Loop, element: AccessPath, frame: Frame, roles: Roles) -> bool:
    """Whether each iteration surely has an element of its own: the variable of the loop, or what that is the key of."""
    keys = {part.id for part in walk(loop.target) if isinstance(part, ast.Name)}
    _, subscripts = _stepped(loop)
    computed = [each for each in subscripts if not (isinstance(each.slice, ast.Name) and each.slice.id in keys)]
    return all(roles.object(each, frame) is not element for each in computed)


def _binds_one_of(names: set[str], node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id in names for target in node.targets)


def _is_element(expr: ast.expr, frame: Frame, roles: Roles, stepped: bool = False) -> bool:
    return roles.object(expr, frame).ends_in_any_element and (stepped or roles.is_optimizer(expr, frame))


@lru_cache(maxsize=128)  # a loop is resolved again from each call of its function
def _stepped(loop: Loop) -> tuple[set[str], list[ast.Subscript]]:
    """Names that the body of a loop passes to a `step` or an `unscale_`, as only optimizers are; and its subscripts."""
    stepped, subscripts = set(), []
    for statement in loop.body:
        for node in walk(statement):
            if node.__class__ is ast.Subscript:
                subscripts.append(node)
            elif node.__class__ is ast.Call and last_name(node.func) in ("step", "unscale_") and node.args:
                stepped |= {node.args[0].id} if isinstance(node.args[0], ast.Name) else set()
    return stepped, subscripts


def selection(iterable: ast.expr, frame: Frame, roles: Roles) -> tuple[ast.expr, Frame] | None:
    """The condition that selects what a loop iterates over (`[k for k in names if k in due]`); None where it is all."""
    expr, home = resolved(iterable, frame, roles)
    if isinstance(expr, _FILTERED):
        conditions = [condition for generator in expr.generators for condition in generator.ifs]
        if len(conditions) == 1:
            return conditions[0], home
    return None


def resolved(expr: ast.expr, frame: Frame, roles: Roles) -> tuple[ast.expr, Frame]:
    """Resolve a name to what it surely stands for: the argument for a parameter, its value where it is bound once."""
    for _ in range(_MAX_NAMES):
        binding, home = _only_binding(expr, frame, roles)
        if binding is None:
            break
        if binding.kind == "parameter":
            name = binding.node.arg  # type: ignore[attr-defined]
            default = home.function.default(name)
            if bound := home.arguments.get(name):
                expr, frame = bound.expr, bound.frame
            elif home.caller is not None and default is not None:
                expr, frame = default, roles.evaluator.module_frame(home.function.module)
            else:
                break
        elif binding.kind == "value" and binding.expr is not None:
            expr, frame = binding.expr, home
        else:
            break
    return expr, frame


def _only_binding(expr: ast.expr, frame: Frame, roles: Roles) -> tuple[Binding | None, Frame]:
    """The binding of a name, and the frame it belongs to; of several the innermost loop's that the name stands in."""
    found = roles.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
    if found is None:
        return None, frame
    bindings, home = found
    if len(bindings) > 1:
        bindings = [each for each in bindings if isinstance(each.node, Loop) and _holds(each.node, expr)][-1:]
    return (bindings[0], home) if bindings else (None, home)


def _holds(loop: Loop, expr: ast.expr) -> bool:
    return loop.lineno <= expr.lineno <= (loop.end_lineno or 0)


# -- first and last iteration --------------------------------------------------------------------------------------


def iteration_predicate(test: ast.expr, frame: Frame, roles: Roles) -> Fact | None:
    """The predicate of the first or the last iteration that a condition is: `i == 0`, `i + 1 == len(optimizers)`."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.NotEq)):
        return None
    wanted = isinstance(test.ops[0], ast.Eq)
    for one, other in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        number, ahead, home = _shifted(one, frame, roles)
        binding, _ = _only_binding(number, home, roles)
        loop = binding.node if binding is not None else None
        if not isinstance(loop, Loop) or binding is None or not (counted := _counted(binding)):
            continue
        index = roles.path(number, home)
        end, short, there = _shifted(other, frame, roles)
        text = f"{index} of line {loop.lineno}"
        if isinstance(end, ast.Constant):
            flag = AccessPath(Root("flag", f"first {text}"))
            first = Predicate(str(flag), frozenset({flag}), loop=loop)
            return (first, wanted) if end.value == ahead - short else None
        if ahead - short == 1 and _is_length(end, there, counted, home, roles):
            return Predicate(f"last {text}", frozenset({index}), loop=loop), wanted
    return None


def _shifted(expr: ast.expr, frame: Frame, roles: Roles) -> tuple[ast.expr, int, Frame]:
    """`i + 1` as i and 1, and the frame of i."""
    expr, frame = resolved(expr, frame, roles)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add | ast.Sub):
        amounts = {value.value for value in roles.evaluator.values(expr.right, frame) if isinstance(value, Literal)}
        if len(amounts) == 1 and isinstance(amount := amounts.pop(), int):
            inner, more, home = _shifted(expr.left, frame, roles)
            return inner, more + (amount if isinstance(expr.op, ast.Add) else -amount), home
    return expr, 0, frame


def _counted(binding: Binding) -> ast.expr | None:
    """What the iterations of a loop are counted by: the collection of an `enumerate`, the argument of a `range`."""
    if binding.kind == "index":
        return binding.expr
    match binding.expr:
        case ast.Call(func=ast.Name(id="range"), args=[end]) if binding.kind == "iteration":
            return end
    return None


def _is_length(end: ast.expr, frame: Frame, counted: ast.expr, home: Frame, roles: Roles) -> bool:
    """Whether `end` is how many iterations there are: `len` of the collection, or the same number as in `range`."""
    counted, home = resolved(counted, home, roles)
    if isinstance(end, ast.Call) and last_name(end.func) == "len" and len(end.args) == 1:
        length, frame = end.args[0], frame
        if isinstance(counted, ast.Call) and last_name(counted.func) == "len" and len(counted.args) == 1:
            counted = counted.args[0]
        return roles.path(length, frame) == roles.path(counted, home)
    return isinstance(end, ast.Name | ast.Attribute) and roles.path(end, frame) == roles.path(counted, home)

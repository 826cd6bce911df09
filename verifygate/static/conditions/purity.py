"""Functions of the project that only ask: `self.uses_amp()`, asked twice about the same, comes out the same."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Frame

_STABLE_CALLS = frozenset(
    """isinstance hasattr getattr bool int str lower upper strip startswith endswith getenv is_available is_initialized
    is_bf16_supported is_enabled get_rank get_world_size is_main_process""".split()  # noqa: SIM905
)
"""Functions and methods that give the same each time, as long as what they are asked about is the same."""
_SAYS = frozenset({"print", "debug", "info", "warning"})
_CHANGING = ast.Await | ast.NamedExpr | ast.Lambda | ast.comprehension | ast.Yield | ast.YieldFrom


def gives_the_same(call: ast.Call) -> bool:
    """Whether a call, by its name, gives the same each time: a question about a type, a setting by its name."""
    name = last_name(call.func)
    if name == "get":
        return bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    return name in _STABLE_CALLS


def question(call: ast.Call, frame: Frame, roles: Roles) -> Frame | None:
    """The frame of the one function of the project that a call surely runs, where all that this does is to ask."""
    callees = roles.evaluator.callees(call, frame)
    if len(callees) != 1 or not _only_asks(callees[0].function) or roles.evaluator.hierarchy.dispatched(call, frame):
        return None
    return roles.evaluator.enter(callees[0], call, frame)


def answer(asked: Frame) -> ast.expr | None:
    """What a question that is one expression comes out as."""
    match _body(asked.function):
        case [ast.Return(value=value)]:
            return value
    return None


def read_by(asked: Frame, path: Callable[[ast.expr, Frame], AccessPath]) -> Iterator[AccessPath]:
    """The access paths of what a predicate reads."""
    for statement in _body(asked.function):
        for node in walk(statement):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield path(node, asked)


def _body(function: Function) -> list[ast.stmt]:
    body = [] if isinstance(function.node, ast.Module) else function.node.body
    return [each for each in body if not (isinstance(each, ast.Expr) and _only_says(each.value))]


def _only_says(value: ast.expr) -> bool:
    """A docstring, or a line for whoever watches: `print(...)`, `logger.debug(...)`."""
    if isinstance(value, ast.Call) and last_name(value.func) in _SAYS:
        return all(map(_only_reads, (*value.args, *(word.value for word in value.keywords))))
    return isinstance(value, ast.Constant)


def _only_asks(function: Function) -> bool:
    """Whether a function binds its names, compares, raises and returns, and runs nothing that changes a thing."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or (node.decorator_list and not function.is_static):
        return False
    body = _body(function)
    return bool(body) and isinstance(body[-1], ast.Return | ast.If) and all(map(_asks, body))


def _asks(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.Return(value=ast.expr() as value):
            return _only_reads(value)
        case ast.If(test=test, body=body, orelse=orelse):
            return _only_reads(test) and all(map(_asks, (*body, *orelse)))
        case ast.Assert(test=test):
            return _only_reads(test)
    return isinstance(statement, ast.Raise | ast.Pass)


def _only_reads(value: ast.expr) -> bool:
    return not any(
        isinstance(node, _CHANGING) or (isinstance(node, ast.Call) and not (gives_the_same(node) or _converts(node)))
        for node in walk(value)
    )


def _converts(call: ast.Call) -> bool:
    """Whether a call makes a member of an enumeration out of its value: `Precision("half")`."""
    named = isinstance(call.func, ast.Name) and call.func.id[:1].isupper()
    return named and len(call.args) == 1 and not call.keywords

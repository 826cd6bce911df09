"""Loss-scale reads that cannot fail: through a chain of `getattr(..., None)`, or with every error swallowed.

Such telemetry fails in silence. Where a link of the chain is not there (a framework was updated, precision is not what
was thought), the scale is None, nothing is logged, and the curve that would have shown a collapse is merely absent.
This is a fact for the report and for the specification, not a finding: whether it will do is the project's to say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.traversal import is_none, walk

WORDS = ("get_scale",)
"""What a file that reads the loss scale names."""
LINKS = 2
"""So many `getattr(..., None)` in a row make a chain: one alone may be a considered question."""
_SHOUTS = frozenset({"warn", "warning", "error", "exception", "critical", "print"})
"""Calls that tell somebody that there is no scale."""
_EPOCH = r"epoch_(?:end|start)"


@record
class SilentScaleReads:
    """One place where the loss scale is read so, and what is to be said of it."""

    node: ast.expr
    function: Function
    note: str


@record
class _Chain:
    """What a name holds: how it was got at."""

    links: tuple[str, ...] = ()
    first: ast.expr | None = None


def passive_readings(modules: list[Module]) -> Iterator[SilentScaleReads]:
    """Every such place in the files that name `get_scale`, one for a function."""
    for module in modules:
        if not any(word.encode() in module.file.data for word in WORDS):
            continue
        for function in module.functions.values():
            if not _tells(function) and (found := _through_getattr(function) or _through_except(function)):
                node, how = found
                yield SilentScaleReads(
                    node, function, f"{how}: where it is not there, it is None and nobody is told{_when(function)}"
                )


def _through_getattr(function: Function) -> tuple[ast.expr, str] | None:
    known: dict[str, _Chain] = {}
    for node in function.own_nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _chain(node.value, known)
        elif isinstance(node, ast.NamedExpr):
            known[node.target.id] = _chain(node.value, known)
        if isinstance(node, ast.expr) and _reads_scale(node):
            chain = _chain(node, known)
            if len(chain.links) >= LINKS and chain.first is not None:
                names = ", ".join(chain.links)
                return chain.first, f"through {len(chain.links)} `getattr(..., None)` in a row ({names})"
    return None


def _chain(expr: ast.expr, known: dict[str, _Chain]) -> _Chain:
    """The `getattr(..., None)` by which the value of an expression was got at, in order."""
    if isinstance(expr, ast.Name):
        return known.get(expr.id, _Chain())
    if isinstance(expr, ast.Attribute):
        return _chain(expr.value, known)
    if isinstance(expr, ast.IfExp | ast.BoolOp):
        parts = [expr.body, expr.orelse] if isinstance(expr, ast.IfExp) else expr.values
        return max((_chain(part, known) for part in parts), key=lambda chain: len(chain.links))
    if isinstance(expr, ast.Call) and (name := _soft(expr)):
        before = _chain(expr.args[0], known)
        return _Chain((*before.links, name), before.first or expr)
    return _Chain()


def _soft(call: ast.Call) -> str:
    """The attribute that `getattr(x, "name", None)` asks for; empty for any other call."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), ast.Constant(value=None)]):
            return name
    return ""


def _reads_scale(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _soft(node) in WORDS
    return isinstance(node, ast.Attribute) and node.attr in WORDS


def _through_except(function: Function) -> tuple[ast.expr, str] | None:
    """`get_scale()` in a `try` whose handler takes every error and does nothing with it."""
    for node in function.of_kind(ast.Try):
        if not any(_swallows(handler) for handler in node.handlers):
            continue
        for inner in (each for statement in node.body for each in walk(statement)):
            if isinstance(inner, ast.Call) and simple_name(inner.func) in WORDS:
                return inner, "with every error swallowed"
    return None


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {simple_name(each) for each in caught if each is not None}
    if handler.type is not None and not names & {"Exception", "BaseException", "AttributeError"}:
        return False
    return all(
        isinstance(each, ast.Pass | ast.Continue)
        or (isinstance(each, ast.Return) and (each.value is None or is_none(each.value)))
        or (isinstance(each, ast.Assign) and is_none(each.value))
        for each in handler.body
    )


def _tells(function: Function) -> bool:
    """Whether the function raises, or says something, anywhere: then its silence is not certain."""
    return bool(function.of_kind(ast.Raise)) or any(simple_name(call.func) in _SHOUTS for call in function.calls)


def _when(function: Function) -> str:
    """That it is asked once an epoch at most, where its own file shows nothing else."""
    module = function.module
    callers = [
        each
        for each in module.all_functions
        if each is not function and any(simple_name(call.func) == function.name for call in each.calls)
    ]
    hooks = callers or [function]
    if not all(re.search(_EPOCH, each.name) for each in hooks):
        return ""
    names = ", ".join(f"`{each.symbol}`" for each in hooks)
    return f"; asked for in {names} alone, which runs once an epoch"

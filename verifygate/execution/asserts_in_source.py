"""How many asserts of a test can fail.

One that no run reaches, that is true whatever happens, or whose failure is caught and forgotten asserts nothing:

    return                      with suppress(AssertionError):      assert step == 2 or True
    assert step == 2                assert step == 2                assert (step == 2, "must be two")
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

RAISING = ("pytest.raises", "raises", "pytest.warns", "pytest.fail")
"""Calls that assert, beside those whose name begins with one of `ASSERTING`."""
ASSERTING = ("assert", "check", "expect")
LEAVING = ("pytest.skip", "pytest.xfail", "self.skipTest")
"""Calls after which nothing of the block runs."""
CAUGHT = ("AssertionError", "Exception", "BaseException")
"""Classes that catch a failed assert."""


def asserts_that_can_fail(test: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Assert statements, and calls that assert (`assert_close`, `self.assertEqual`, `pytest.raises`)."""
    return sum(map(_asserts, _live(test)))


def dotted(node: ast.expr | None) -> str:
    """`pytest.mark.parametrize` of a name, an attribute, or a call of one; empty for anything else."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _live(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what stands in it, but for statements that cannot run, or cannot fail the test."""
    yield node
    inert = set(_inert(node))
    for name, value in ast.iter_fields(node):
        if name in inert:
            continue
        children = _reached(value) if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, ast.AST):
                yield from _live(child)


def _inert(node: ast.AST) -> Iterable[str]:
    """The fields of a statement that hold nothing which can fail the test."""
    match node:
        case ast.If(test=ast.Constant(value=value)):
            return ["orelse"] if value else ["body"]
        case ast.While(test=ast.Constant(value=value)) if not value:
            return ["body"]
        case ast.Try(handlers=handlers) if any(map(_forgets, handlers)):
            return ["body"]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            calls = [each.context_expr for each in items if isinstance(each.context_expr, ast.Call)]
            catching = [call for call in calls if any(_catches(argument) for argument in call.args)]
            if any(dotted(call).endswith("suppress") for call in catching):
                return ["body"]
            own = any(isinstance(each, ast.Assert) for each in node.body)
            return ["items", "body"] if own and any(dotted(call) in RAISING for call in catching) else []
    return []


def _reached(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a list; of the statements of a block those up to one that leaves it."""
    for node in nodes:
        yield node
        leaves = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and dotted(node.value) in LEAVING
        if leaves or isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _forgets(handler: ast.ExceptHandler) -> bool:
    """Whether a failed assert ends there."""
    told = (ast.Raise, ast.Assert)
    tells = any(isinstance(each, told) or _dotted_call(each) == "pytest.fail" for each in ast.walk(handler))
    return (handler.type is None or _catches(handler.type)) and not tells


def _dotted_call(node: ast.AST) -> str:
    return dotted(node) if isinstance(node, ast.Call) else ""


def _catches(node: ast.expr) -> bool:
    each = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(dotted(name).rpartition(".")[2] in CAUGHT for name in each)


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not _is_always_true(node.test)
    name = _dotted_call(node)
    return name in RAISING or name.rpartition(".")[2].startswith(ASSERTING)


def _is_always_true(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elts):
            return bool(elts)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_always_true, values))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right)
    return False

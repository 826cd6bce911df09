"""Contexts that a `with` enters through an `ExitStack`, beside its own items.

    with ExitStack() as stack:
        stack.enter_context(torch.autocast("cuda"))
        if not train:
            stack.enter_context(torch.no_grad())

They stay open to the end of the `with`, as if they were items of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator


def stacked(node: ast.With | ast.AsyncWith) -> Iterator[tuple[ast.expr, bool]]:
    """The contexts that statements of the body enter, in their order; and whether a condition decides on each."""
    names = {item.optional_vars.id for item in node.items if isinstance(item.optional_vars, ast.Name)}
    for statement in node.body if names else ():
        arms = (*statement.body, *statement.orelse) if isinstance(statement, ast.If) else (statement,)
        for each in arms:
            if (context := _entered(each, names)) is not None:
                yield context, each is not statement


def _entered(statement: ast.stmt, names: set[str]) -> ast.expr | None:
    match statement:
        case (
            ast.Expr(value=ast.Call() as call)
            | ast.Assign(value=ast.Call() as call)
            | ast.AnnAssign(value=ast.Call() as call)
        ):
            pass
        case _:
            return None
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="enter_context" | "enter_async_context"), args=[context]
        ) if name in names:
            return context
    return None

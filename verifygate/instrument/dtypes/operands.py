"""The tensors that the call which raised was given: read off the frame and the source of the line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..patching.frames import foreign
from .syntax import Call, node_at, value_of


@dataclass(frozen=True)
class Operand:
    """One tensor that the failing call was given."""

    expression: ast.expr
    tensor: torch.Tensor
    is_written: bool = False
    """Whether the call writes into it."""


def operands(call: Call) -> list[Operand]:
    """The floating-point tensors in the expression that a call was at, in the order of the text."""
    found = node_at(call)
    if found is None:
        return []
    node, statement = found
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        node = statement
    return [
        Operand(expression, each, is_written)
        for expression, is_written in _expressions(node)
        for each in _tensors(value_of(expression, call.frame))
    ]


def passes_on(call: Call) -> bool:
    """Whether a call hands on what it was given, `function(*args)`: a mode of torch's, which has no names for it."""
    found = node_at(call)
    node = found[0] if found is not None else None
    return (
        foreign(call.path) and isinstance(node, ast.Call) and any(isinstance(each, ast.Starred) for each in node.args)
    )


def _expressions(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The operands of a node, and whether each is written to."""
    match node:
        case ast.Call():
            yield (
                (node.func.value, node.func.attr.endswith("_"))
                if isinstance(node.func, ast.Attribute)
                else (node.func, False)
            )
            for each in node.args:
                yield (each.value if isinstance(each, ast.Starred) else each), False
            for keyword in node.keywords:
                yield keyword.value, keyword.arg == "out"
        case ast.BinOp():
            yield node.left, False
            yield node.right, False
        case ast.AugAssign():
            yield _base(node.target), True
            yield node.value, False
        case ast.Assign():
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    yield target.value, True
            yield node.value, False
        case ast.Expr() | ast.Return() if node.value is not None:
            yield from _expressions(node.value)
        case ast.Subscript():
            yield node.value, False


def _base(target: ast.expr) -> ast.expr:
    return target.value if isinstance(target, ast.Subscript) else target


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The floating-point tensors in a value: itself, those in a list of weights, the weights of a module of torch's."""
    if isinstance(value, torch.nn.Module):
        value = list(value._parameters.values()) if not value._modules else []
    several = value if isinstance(value, list | tuple) else (value,)
    for each in several[:8]:
        if isinstance(each, torch.Tensor) and each.is_floating_point():
            yield each

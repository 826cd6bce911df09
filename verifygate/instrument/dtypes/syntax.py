"""From a frame to its syntax, and from an expression to its value: what can be had without running the project."""

from __future__ import annotations

import ast
import linecache
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType, ModuleType, TracebackType
from typing import Any

import torch

UNKNOWN = object()
"""What an expression is worth that would have to be run."""
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
}
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


@dataclass(frozen=True)
class Call:
    """A frame of a traceback, and the position of the instruction that it was at."""

    frame: FrameType
    line: int
    span: tuple[int | None, int | None, int | None, int | None]
    """First line, last line, first column, last column; columns count bytes."""

    @property
    def path(self) -> str:
        return self.frame.f_code.co_filename


def calls(trace: TracebackType | None) -> Iterator[Call]:
    """The calls of a traceback, outermost first."""
    while trace is not None:
        positions = list(trace.tb_frame.f_code.co_positions())
        at = trace.tb_lasti // 2
        yield Call(trace.tb_frame, trace.tb_lineno, positions[at] if at < len(positions) else (None,) * 4)
        trace = trace.tb_next


def tree_of(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def node_at(call: Call) -> tuple[ast.AST, ast.stmt] | None:
    """The expression that a call was at, and the statement around it."""
    tree = tree_of(call.path)
    if tree is None:
        return None
    inner: ast.AST | None = None
    statement: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= call.line <= (node.end_lineno or 0):
            statement = node  # `walk` is breadth first: the last one is the innermost
        if isinstance(node, ast.expr) and _span(node) == call.span:
            inner = node
    return (inner or statement, statement) if statement is not None else None


def _span(node: ast.expr) -> tuple[int | None, int | None, int | None, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def scope_of(call: Call) -> Scope | None:
    """The function whose code a frame runs; the module for code outside of functions."""
    tree = tree_of(call.path)
    if tree is None or call.frame.f_code.co_name == "<module>":
        return tree
    first = call.frame.f_code.co_firstlineno
    found: Scope | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            begins = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            if begins == first and getattr(node, "name", "<lambda>") == call.frame.f_code.co_name:
                found = node
    return found


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """The value of an expression in a frame; UNKNOWN where code of the project would have to run for it."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
                if node.id in names:
                    return names[node.id]
        case ast.Attribute():
            return attribute(value_of(node.value, frame), node.attr)
        case ast.List() | ast.Tuple():
            return _unless_unknown(lambda *each: each, *(value_of(each, frame) for each in node.elts))
        case ast.Slice():
            ends = (value_of(each, frame) if each is not None else None for each in (node.lower, node.upper, node.step))
            return _unless_unknown(slice, *ends)
        case ast.Subscript():
            return _unless_unknown(_item, value_of(node.value, frame), value_of(node.slice, frame))
        case ast.BinOp() if type(node.op) in _OPERATORS:
            left, right = value_of(node.left, frame), value_of(node.right, frame)
            if all(_is_plain(each) or isinstance(each, int | float) for each in (left, right)):
                return _unless_unknown(_OPERATORS[type(node.op)], left, right)
        case ast.Call():
            return _called(node, frame)
    return UNKNOWN


def _unless_unknown(function: Callable[..., Any], *values: Any) -> Any:
    """What a function that runs nothing of the project's gives, without gradients; UNKNOWN where it raises."""
    if any(each is UNKNOWN for each in values):
        return UNKNOWN
    try:
        with torch.no_grad():
            return function(*values)
    except Exception:  # it may be what failed
        return UNKNOWN


def _item(holder: Any, key: Any) -> Any:
    return holder[key] if type(holder) in (dict, list, tuple) or _is_plain(holder) else UNKNOWN


def attribute(holder: Any, name: str) -> Any:
    """An attribute, where nothing of the project's runs to read it."""
    if holder is UNKNOWN:
        return UNKNOWN
    if isinstance(holder, torch.nn.Module):
        for names in (holder.__dict__, holder._parameters, holder._buffers, holder._modules):
            if name in names:
                return names[name]
        return UNKNOWN
    if _is_plain(holder) and (name in ("data", "T", "mT", "grad") or callable(getattr(torch.Tensor, name, None))):
        return getattr(holder, name)
    names = getattr(holder, "__dict__", {})
    return names[name] if isinstance(holder, ModuleType | object) and name in names else UNKNOWN


def _called(node: ast.Call, frame: FrameType) -> Any:
    """What a function of torch's gives for values that are known: computed again, nothing of the project's runs."""
    function = value_of(node.func, frame)
    module = getattr(function, "__module__", None) or getattr(
        type(getattr(function, "__self__", None)), "__module__", ""
    )
    name = getattr(function, "__name__", "")
    keeps = isinstance(function, torch.nn.Module) and bool(function._modules or function._buffers)
    keeps = keeps or name in ("batch_norm", "instance_norm", "manual_seed")  # they write what later code reads
    if keeps or not str(module).startswith("torch") or name.endswith("_") or name in ("item", "tolist", "backward"):
        return UNKNOWN
    given = [value_of(each, frame) for each in node.args]
    named = {each.arg or "**": value_of(each.value, frame) for each in node.keywords}
    draws = any(isinstance(each, torch.Generator) for each in (*given, *named.values()))
    if draws or any(each is UNKNOWN for each in named.values()) or "**" in named:
        return UNKNOWN
    return _unless_unknown(lambda *each: function(*each, **named), *given)


def _is_plain(value: Any) -> bool:
    return type(value) in (torch.Tensor, torch.nn.Parameter)


def text_of(node: ast.AST) -> str:
    """An expression as text, on one line and not too long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."

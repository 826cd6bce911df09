"""What an error that ends a run tells of itself: who raised it, what led to it, the statement and its values."""

from __future__ import annotations

import ast
import errno
import linecache
import os
import types
from collections.abc import Iterator
from opcode import opmap
from typing import Any

_RAISE = opmap["RAISE_VARARGS"]
MOST_VALUES = 6
_LONGEST_TEXT = 12
"""Of a text that is shown as a value: a precision is short, and a key is not."""
_LONGEST_STATEMENT = 200
_GENERAL = frozenset({"object", "BaseException", "Exception"})


def by_statement(error: BaseException) -> bool:
    """Whether a `raise` or an `assert` raised it, at the innermost place of its traceback: else the interpreter, or
    compiled code, met it."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_lasti >= 0 and step.tb_frame.f_code.co_code[step.tb_lasti] == _RAISE


def causes(error: BaseException) -> list[list[str]]:
    """The names of the classes of an error, and of each that it was raised from, with what the system calls it:
    `ConnectionRefusedError`, `ConnectionError`, `OSError`, `ECONNREFUSED`."""
    found: list[list[str]] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        names = [each.__name__ for each in type(one).__mro__ if each.__name__ not in _GENERAL]
        number = getattr(one, "errno", None)
        if isinstance(one, OSError) and isinstance(number, int) and number in errno.errorcode:
            names.append(errno.errorcode[number])
        found.append(names)
        one = one.__cause__
    return found


def statement(error: BaseException, root: str) -> dict[str, Any]:
    """The innermost statement of the project in `root` by which an error came: its path, line, text, and the values in
    it. Nothing where there is none, or its text is not known."""
    step, found, below = error.__traceback__, None, root.rstrip(os.sep) + os.sep
    while step is not None:
        path = step.tb_frame.f_code.co_filename
        found = step if path.startswith(below) and f"{os.sep}site-packages{os.sep}" not in path else found
        step = step.tb_next
    if found is None:
        return {}
    path, line = found.tb_frame.f_code.co_filename, found.tb_lineno
    node = _statement_at("".join(linecache.getlines(path)), line)
    if node is None:
        return {}
    head = _head(node)
    text = " ".join(ast.unparse(head).split())[:_LONGEST_STATEMENT]
    return {"path": path, "line": line, "text": text, "values": list(_values(head, found.tb_frame))[:MOST_VALUES]}


def _statement_at(text: str, line: int) -> ast.stmt | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    around = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and _holds(each, line)]
    return max(around, key=lambda each: each.lineno, default=None)


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _head(node: ast.stmt) -> ast.AST:
    """What of a statement was being executed, where others stand inside it: its condition, or what it goes over."""
    match node:
        case ast.If(test=inner) | ast.While(test=inner) | ast.For(iter=inner) | ast.Assert(test=inner):
            return node if isinstance(node, ast.Assert) else inner
        case ast.With(items=[item, *_]):
            return item.context_expr
    return node


def _values(node: ast.AST, frame: types.FrameType) -> Iterator[str]:
    """`n_heads = 2`, for each name and attribute in a statement whose value is a number, a short text, or a shape."""
    told: set[str] = set()
    inner: set[ast.AST] = set()
    for each in ast.walk(node):
        if each in inner or not isinstance(each, ast.Name | ast.Attribute):
            continue
        inner.update(ast.walk(each))
        name, shown = ast.unparse(each), _shown(_value(each, frame))
        if shown and name not in told:
            told.add(name)
            yield f"{name} = {shown}"


_ABSENT = object()


def _value(node: ast.expr, frame: types.FrameType) -> object:
    """What a name, or an attribute that is stored in its object, is; nothing of the project is called to find out."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id, _ABSENT))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, frame)
        try:
            held = object.__getattribute__(owner, "__dict__")
        except AttributeError:
            return _ABSENT
        return dict.get(held, node.attr, _ABSENT) if type(held) is dict else _ABSENT
    return _ABSENT


def _shown(value: object) -> str:
    if value is None or type(value) in (bool, int, float):
        return repr(value)[:_LONGEST_STATEMENT]
    if type(value) is str:
        return repr(value) if len(value) <= _LONGEST_TEXT else ""
    if type(value).__module__ == "torch" and type(value).__name__ in ("Tensor", "dtype", "device"):
        shape = getattr(value, "shape", None)
        return str(value) if shape is None else f"a {getattr(value, 'dtype', '')} tensor of {list(shape)}"
    if isinstance(value, tuple | list) and len(value) <= 8 and all(type(each) in (bool, int, float) for each in value):
        return repr(list(value))
    return ""

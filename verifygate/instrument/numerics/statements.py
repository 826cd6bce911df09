"""The statements that led to the present place, ready to be run again: bodies of loops, or whole functions.

They are compiled from the source of a frame that is running, with its own names, lines and values. The innermost loop
around the present line comes first, then those around it, then the function, then its caller. What stands in the
head of a loop, such as the batch that it draws, is not run again.
"""

from __future__ import annotations

import ast
import keyword
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

from ..patching.frames import of_torch_or_ours, stack

FRAMES, BODIES = 12, 8
"""Frames that are looked at, and bodies that are given at most."""
Run = Callable[[], object]
Running = tuple[FrameType, int]
"""A frame, and the line that it is at."""


def bodies(frames: Sequence[Running] = ()) -> Iterator[Run]:
    """What calls the one who asks, or what `frames` were at, innermost first. Each may be run once."""
    given = 0
    found = frames or [(each, each.f_lineno) for each in stack(sys._getframe(1))]
    own = ((frame, line) for frame, line in found if not of_torch_or_ours(frame.f_code.co_filename))
    for _, (frame, line) in zip(range(FRAMES), own, strict=False):
        for run in _of_frame(frame, line):
            if given < BODIES:
                given += 1
                yield run


def raised_through(error: BaseException) -> list[Running]:
    """The frames that an error went through, the one that raised it first."""
    found: list[Running] = []
    trace = error.__traceback__
    while trace is not None:
        found.insert(0, (trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _of_frame(frame: FrameType, line: int) -> Iterator[Run]:
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    is_module = frame.f_code.co_name == "<module>"
    owner = tree if is_module else _function(tree, frame.f_code)
    if owner is None:
        return
    found = [each.body for each in _loops(owner, line)]
    if isinstance(owner, ast.FunctionDef):
        found.append(owner.body)
    for statements in found:
        try:
            yield _in_module(frame, statements) if is_module else _in_function(frame, owner, statements)
        except (SyntaxError, ValueError):  # what a function of its own may not hold
            continue


def _function(tree: ast.AST, code: CodeType) -> ast.FunctionDef | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min((each.lineno for each in node.decorator_list), default=node.lineno)
            if first == code.co_firstlineno:
                return node
    return None


def _loops(owner: ast.AST, line: int) -> list[ast.For | ast.While]:
    """The loops of a function whose body holds a line, innermost first."""
    found: list[ast.For | ast.While] = []
    pending = list(ast.iter_child_nodes(owner))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.For | ast.While) and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0):
            found.insert(0, node)
        pending += ast.iter_child_nodes(node)
    return found


def _once(statements: list[ast.stmt]) -> ast.For:
    """The statements as a loop of one turn, which `break` and `continue` end."""
    one = ast.Tuple([ast.Constant(None)], ast.Load())
    return ast.For(ast.Name("_", ast.Store()), one, statements, [])


def _in_module(frame: FrameType, statements: list[ast.stmt]) -> Run:
    module = ast.Module([_once(statements)], [])
    code = compile(ast.fix_missing_locations(module), frame.f_code.co_filename, "exec", dont_inherit=True)
    return lambda: exec(code, frame.f_globals)  # noqa: S102 - the project's own statements


def _in_function(frame: FrameType, owner: ast.AST, statements: list[ast.stmt]) -> Run:
    """A function whose parameters are the variables of the frame that have a value."""
    outer = [name for each in ast.walk(owner) if isinstance(each, ast.Global) for name in each.names]
    names = frame.f_code.co_varnames + frame.f_code.co_cellvars + frame.f_code.co_freevars
    known = frame.f_locals
    values = {
        name: known[name]
        for name in names
        if name in known and name not in outer and name.isidentifier() and not keyword.iskeyword(name)
    }
    current = values.pop("__class__", None)
    body: list[ast.stmt] = [ast.Global(outer)] if outer else []
    body.append(_once([_Plain().visit(each) for each in statements]))
    inner = _definition(frame.f_code.co_name, list(values), body)
    returned = ast.Return(ast.Name(inner.name, ast.Load()))
    module = ast.Module([_definition("_made", ["__class__"], [inner, returned])], [])
    code = compile(ast.fix_missing_locations(module), frame.f_code.co_filename, "exec", dont_inherit=True)
    made = next(each for each in code.co_consts if isinstance(each, CodeType))
    function: Any = FunctionType(made, frame.f_globals)(current)
    function.__code__ = function.__code__.replace(co_qualname=frame.f_code.co_qualname)

    def run() -> None:
        result = function(**values)
        if hasattr(result, "__next__"):  # a generator runs when it is asked
            for _ in result:
                pass

    return run


def _definition(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
    extra: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
    return ast.FunctionDef(name, arguments, body, [], None, None, **extra)


class _Plain(ast.NodeTransformer):
    """Takes the declarations out that belong to the whole function."""

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

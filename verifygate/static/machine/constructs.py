"""What a model may not hold: what the machine does not follow exactly. A program may hold it; a model has a choice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import verifygate.static.machine.statements  # noqa: F401 - with it, all kinds of expressions are in the table
from verifygate.static.machine.expressions import KINDS
from verifygate.static.machine.versions import AT_LEAST, PACKAGES

_STATEMENTS = {
    ast.Match: ("`match`", "write `if`"),
    ast.TryStar: ("`except*`", "leave out what handles errors"),
    ast.AsyncFunctionDef: ("`async`", "write what a call comes to, without `async`"),
    ast.AsyncFor: ("`async for`", "write `for`"),
    ast.AsyncWith: ("`async with`", "write `with`"),
    ast.Await: ("`await`", "write what a call comes to, without `await`"),
}
_METHODS = frozenset(
    f"__{name}__"
    for name in (
        *("get", "set", "delete", "set_name", "getattribute", "setattr", "delattr", "new", "del", "bool", "hash"),
        *("init_subclass", "class_getitem", "instancecheck", "subclasscheck", "prepare"),
    )
)
_CALLS = frozenset(["exec", "eval", "compile", "globals", "locals", "vars", "delattr", "__import__"])
_THREADS = frozenset(["threading", "multiprocessing", "concurrent", "asyncio"])
_PLAIN = "a model is straight Python: classes, functions, conditions, loops"


class Refused(NamedTuple):
    """One such construct."""

    line: int
    what: str
    remedy: str


def first_refused(tree: ast.Module) -> Refused | None:
    """The first construct of a model, by line, that the machine does not follow exactly; None where it has none."""
    found = [Refused(getattr(node, "lineno", 1), *why) for node in ast.walk(tree) for why in _refused(node)]
    return min(found, default=None)


def _refused(node: ast.AST) -> Iterator[tuple[str, str]]:
    if node.__class__ in _STATEMENTS:
        yield _STATEMENTS[node.__class__]
    elif isinstance(node, ast.expr) and node.__class__ not in KINDS and not isinstance(node, ast.FormattedValue):
        yield f"an expression of kind {node.__class__.__name__}", _PLAIN
    match node:
        case ast.Try(handlers=[_, *_]):
            yield "`except`", "write what happens where nothing is raised; `try` with `finally` alone is followed"
        case ast.ClassDef(keywords=[word, *_]):
            yield f"`{word.arg or '**'}` of a class", "write the class without a metaclass"
        case ast.FunctionDef(name=name) if name in _METHODS:
            yield f"`{name}`", "use plain attributes, or a property"
        case ast.Assign(value=ast.Yield()) | ast.AnnAssign(value=ast.Yield()) | ast.NamedExpr(value=ast.Yield()):
            yield "what is sent into a generator", "let the function return instead"
        case ast.Delete(targets=targets) if not all(isinstance(each, ast.Name) for each in targets):
            yield "`del` of a part", "assign None"
        case ast.Import() | ast.ImportFrom():
            yield from _imported(node)
        case ast.Call(func=func):
            yield from _called(node, ast.unparse(func))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and node.level:
        yield "an import of the project's own files", "write what is needed here, or name that file in `models` as well"
    elif isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
        yield "an import of `*`", "import names"
    for each in names:
        if each.partition(".")[0] in _THREADS:
            yield f"`{each}`", "call the function directly"


def _called(node: ast.Call, name: str) -> Iterator[tuple[str, str]]:
    if name in _CALLS:
        yield f"`{name}()`", _PLAIN
    elif name == "setattr" and not (len(node.args) > 1 and isinstance(node.args[1], ast.Constant)):
        yield "`setattr()` with a computed name", "assign attributes by name"
    elif name in (AT_LEAST, AT_LEAST.rpartition(".")[2]):
        match node.args:
            case [ast.Constant(value=package), ast.Constant(value=str())] if package in PACKAGES:
                return
        yield f"`{ast.unparse(node)}`", f"ask of one of {', '.join(PACKAGES)}"

"""The tests that stand in a project's source, read without running any of it.

What pytest collects depends on settings, conftests and plugins, so it says little about what was there to collect. A
test here is what pytest's own defaults call one: a function `test_...` at the top of a file, or a method of a class
`Test...` or of a `TestCase`. Definitions under a condition are left out: whether they exist depends on the machine.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from verifygate.execution.asserts_in_source import asserts_that_can_fail, dotted

PASSING_DECORATORS = (
    "pytest.mark.",
    "mark.",
    "mock.patch",
    "patch",
    "torch.no_grad",
    "torch.inference_mode",
    "unittest.",
    "staticmethod",
    "parametrize",
    "pytest_asyncio.",
)
"""Beginnings of decorators that let every failure of a test pass."""
KNOWN_DECORATORS = (*PASSING_DECORATORS, "given", "settings", "hypothesis.")
"""Beginnings of decorators that leave a test a test."""


@dataclass(frozen=True)
class SourceTest:
    """One test function or method."""

    name: str
    """As in pytest's id behind the file: `TestStep::test_scales`."""
    line: int
    asserts: int
    """Assert statements and calls that assert, as far as they can fail."""
    shape: str
    """A digest of its body: a test that was only moved or renamed keeps it."""
    sure: bool = True
    """Whether pytest surely takes it for a test; a decorator of the project's own may turn it into something else."""
    switched_off: str = ""
    """What in this file takes it away: `__test__ = False of TestStep`; empty for nothing."""
    emptied: str = ""
    """The parameters that are an empty list or tuple as written; empty where there are none."""
    cases: int = 1
    """How many parameter sets are written above it; 0 where they are worked out."""

    @property
    def function(self) -> str:
        return self.name.rpartition("::")[2]


@dataclass(frozen=True)
class SourceTests:
    """The tests of one file."""

    path: str
    tests: tuple[SourceTest, ...]
    imports: frozenset[str] = frozenset()
    """Modules and names that it imports: `train`, `train.step`."""
    bases: frozenset[str] = frozenset()
    """Names of classes that its classes inherit."""
    text: str = ""


def read_tests(path: str, data: bytes) -> SourceTests | None:
    """The tests of a file; None where it is not readable Python, which the static stage reports."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    taken = _taken_away(tree.body)
    empty = _empty_constants(tree)
    off = "__test__ = False" if _is_off(tree.body) else ""
    tests = {test.name: test for test in _of_body(tree.body, "", off, taken, empty)}  # of two, the later one counts
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return SourceTests(
        path,
        tuple(tests.values()),
        frozenset(_imports(tree)),
        frozenset(dotted(base).rpartition(".")[2] for node in classes for base in node.bases),
        data.decode("utf-8", "replace"),
    )


def _of_body(
    body: Iterable[ast.stmt], prefix: str, off: str, taken: frozenset[str], empty: frozenset[str]
) -> Iterator[SourceTest]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node, prefix, off, empty)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            decorators = [dotted(each) for each in node.decorator_list]
            if any(name.endswith("fixture") for name in decorators):
                continue
            yield SourceTest(
                prefix + node.name,
                node.lineno,
                asserts_that_can_fail(node),
                _shape(node),
                all(name.startswith(KNOWN_DECORATORS) for name in decorators),
                off or (f"`{node.name}` is deleted or bound again" if node.name in taken else ""),
                _emptied(node, empty),
                prod(map(_sets, filter(_is_parametrize, node.decorator_list))),
            )


def _of_class(node: ast.ClassDef, prefix: str, off: str, empty: frozenset[str]) -> Iterator[SourceTest]:
    bases = [dotted(base).rpartition(".")[2] for base in node.bases]
    of_unittest = any(base.endswith("TestCase") for base in bases)
    if not (of_unittest or node.name.startswith("Test")):
        return
    own = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    plain = all(base == "object" or base.startswith("Test") or base.endswith("TestCase") for base in bases)
    sure = plain and not node.keywords and (of_unittest or not own & {"__init__", "__new__"})
    switched = off or (f"__test__ = False of {node.name}" if _is_off(node.body) else "")
    for test in _of_body(node.body, f"{prefix}{node.name}::", switched, _taken_away(node.body), empty):
        yield test if sure else SourceTest(**(vars(test) | {"sure": False}))


def _is_off(body: Iterable[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "__test__" for target in node.targets)
        and isinstance(node.value, ast.Constant)
        and not node.value.value
        for node in body
    )


def _taken_away(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that the body deletes or binds again."""
    found: set[str] = set()
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else ()
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def _empty_constants(tree: ast.Module) -> frozenset[str]:
    """Names bound once, to an empty list or tuple as written, that nothing else in the file touches but by reading."""
    bound: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] = bound.get(node.id, 0) + 1
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name):
            bound[node.value.id] = 2  # `CASES.append(...)`
    return frozenset(
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_empty(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name) and bound[target.id] == 1
    )


def _is_empty(node: ast.expr, empty: frozenset[str]) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return not node.elts
    return isinstance(node, ast.Name) and node.id in empty


def _emptied(node: ast.FunctionDef | ast.AsyncFunctionDef, empty: frozenset[str]) -> str:
    for each in filter(_is_parametrize, node.decorator_list):
        if (values := _values(each)) is not None and _is_empty(values, empty):
            return ast.unparse(each.args[0]) if isinstance(each, ast.Call) and each.args else "its parameters"
    return ""


def _is_parametrize(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node).endswith("parametrize")


def _values(node: ast.expr) -> ast.expr | None:
    """The parameter sets that `parametrize` is given."""
    if not isinstance(node, ast.Call):
        return None
    named = (word.value for word in node.keywords if word.arg == "argvalues")
    return next(iter([*node.args[1:2], *named]), None)


def _sets(node: ast.expr) -> int:
    match _values(node):
        case ast.List(elts=sets) | ast.Tuple(elts=sets) if not any(isinstance(each, ast.Starred) for each in sets):
            return len(sets)
    return 0


def _shape(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.dump(ast.Module([*node.body, ast.Expr(node.args)], []))  # type: ignore[arg-type] # only its text counts
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)

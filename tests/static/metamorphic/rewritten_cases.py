"""The rules' own cases, written otherwise without changing what they do: what is found may not depend on that.

`python tests/static/metamorphic/rewritten_cases.py [--every N]` prints, for each way to write them, which cases lose a
finding and list nothing as not followed instead, and which good ones are told something certain.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from verifygate.config.settings import StaticSettings
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import analyse

CASES = Path(__file__).parent.parent / "cases"
BESIDE = (
    b"import os\nfrom torch import nn\n\n\ndef work(path):\n    return [os.path.join(path, each) for each in 'ab']\n"
)


class WithoutAnnotations(ast.NodeTransformer):
    """Parameters, results and variables lose their annotations; fields of classes keep them, which make them."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.body = [self._assigned(each) for each in node.body]
        return self.generic_visit(node)

    def _assigned(self, node: ast.stmt) -> ast.stmt:
        match node:
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return ast.Assign([target], value)
        return node


class Printing(ast.NodeTransformer):
    """Every function says first what it is given, but for those that only stand for another one."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        names = [ast.Name(each.arg, ast.Load()) for each in node.args.args[:2] if each.arg not in ("self", "cls")]
        told = ast.Expr(ast.Call(ast.Name("print", ast.Load()), [ast.Constant(node.name), *names], []))
        at = 1 if ast.get_docstring(node) is not None else 0
        if not all(isinstance(each, ast.Pass | ast.Raise) or _is_constant(each) for each in node.body):
            node.body.insert(at, told)
        return node


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class Unchained(ast.NodeTransformer):
    """`y = f(x).g()` is `step0 = f(x)` and `y = step0.g()`."""

    def __init__(self) -> None:
        self.numbers = count()

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        return self._apart(node, node.value)

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        return self._apart(node, node.value)

    def _apart(self, node: ast.stmt, value: ast.expr | None) -> ast.AST | list[ast.stmt]:
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Call() as first) as func):
                name = f"step{next(self.numbers)}"
                func.value = ast.Name(name, ast.Load())
                return [ast.Assign([ast.Name(name, ast.Store())], first), node]
        return node


def _transformed(by: Callable[[], ast.NodeTransformer]) -> Callable[[str], str]:
    return lambda text: ast.unparse(ast.fix_missing_locations(by().visit(ast.parse(text))))


WAYS: dict[str, Callable[[str], str]] = {
    "annotations taken away": _transformed(WithoutAnnotations),
    "a print in every function": _transformed(Printing),
    "a variable for what was chained": _transformed(Unchained),
    "an unrelated file": lambda text: ast.unparse(ast.parse(text)),
}


def told(text: str, rule: str, *, beside: bytes = b"") -> AnalysisResult:
    files = [SourceFile("train.py", text.encode()), *([SourceFile("shell.py", beside)] if beside else [])]
    return analyse(Sources(files), StaticSettings(select=(rule,)), merged=False)


def differences(every: int = 1, ways: Sequence[str] = tuple(WAYS)) -> Iterator[tuple[str, str, str]]:
    """How the answers to rewritten cases differ: the way, the case, and what is lost or certain and false."""
    for case in sorted(CASES.glob("*/*.py"))[::every]:
        rule, text = case.parent.name, case.read_text(encoding="utf-8")
        plain = ast.unparse(ast.parse(text))
        before = told(plain, rule)
        found = Counter((each.rule, each.certainty) for each in before.findings)
        for way in ways:
            after = WAYS[way](text)
            beside = BESIDE if way == "an unrelated file" else b""
            if after == plain and not beside:
                continue
            result = told(after, rule, beside=beside)
            now = Counter((each.rule, each.certainty) for each in result.findings)
            name = f"{rule}/{case.stem}"
            if (lost := found - now) and not result.not_followed:
                yield way, name, f"lost {sorted((*each, number) for each, number in lost.items())}"
            if new := now - found:
                yield way, name, f"new {sorted((*each, number) for each, number in new.items())}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    for each in differences(parser.parse_args().every):
        print(*each, sep=": ")

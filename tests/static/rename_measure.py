"""Measure how much of what the rules find rests on names: `python tests/static/rename_measure.py [--every N]`.

Each bad case that is one file is written again with names that say nothing (v0, v1, ...), level by level: its
variables, its parameters, the attributes that it sets on `self`, and all of these. Printed is how many of the findings
that the case expects are still told at their lines, and how many in the good cases are told as certain.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from verifygate.config.settings import StaticSettings
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

CASES = Path(__file__).parent / "cases"
EXPECT = re.compile(rb"#.*\bexpect: ([A-Z]+\d+)")
Names = set[str]
TORCHS_OWN = {"grad_scaler", "_step_supports_amp_scaling"}
"""Names that torch asks an optimizer for: with others it is another program."""


def variables(tree: ast.Module) -> Names:
    """What is assigned, but for parameters, fields of classes, and what is imported or defined."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    fields = {
        each.id
        for made in ast.walk(tree)
        if isinstance(made, ast.ClassDef)
        for statement in made.body
        for each in ast.walk(statement)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    taken = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return stored - fields - taken - {each for node in ast.walk(tree) for each in _bound_elsewhere(node)}


def _bound_elsewhere(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names


def parameters(tree: ast.Module) -> Names:
    """The parameters of functions, but for `self` and those that a call may mean by keyword."""
    taken = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} - {"self", "cls"}
    return taken - TORCHS_OWN - {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}


def attributes(tree: ast.Module) -> Names:
    """The attributes that are set on `self`, and never read of anything else: a framework's own keep their names.

    So do those that a text names: `hasattr(self, "scaler")` asks for that one.
    """
    own, others, defined = Names(), Names(), Names()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if is_own and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif not is_own:
                others.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            defined.add(node.value)
    return own - others - defined - TORCHS_OWN


LEVELS: dict[str, tuple[Callable[[ast.Module], Names], ...]] = {
    "as written": (),
    "variables": (variables,),
    "parameters": (parameters,),
    "attributes": (attributes,),
    "all": (variables, parameters, attributes),
}


def renamed(source: bytes, level: str) -> bytes:
    """The source with the names of a level replaced; lines, texts and comments stay."""
    tree = ast.parse(source)
    in_texts = {
        node.id
        for text in ast.walk(tree)
        if isinstance(text, ast.JoinedStr)
        for node in ast.walk(text)
        if isinstance(node, ast.Name)
    }  # Python 3.11 does not say where in the line these stand
    plain, dotted = Names(), Names()
    for find in LEVELS[level]:
        (dotted if find is attributes else plain).update(find(tree) - in_texts)
    lines = source.split(b"\n")
    for row, column, old, new in sorted(_places(tree, plain, dotted), reverse=True):
        line = lines[row - 1]
        assert line[column : column + len(old)] == old, (line, old)
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return b"\n".join(lines)


def _places(tree: ast.Module, plain: Names, dotted: Names) -> set[tuple[int, int, bytes, bytes]]:
    numbers = {name: f"v{number}".encode() for number, name in enumerate(sorted(plain | dotted))}
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) if name in plain:
                found.add((node.lineno, node.col_offset, name.encode(), numbers[name]))
            case ast.Attribute(attr=name) if name in dotted:
                column = (node.end_col_offset or 0) - len(name.encode())
                found.add((node.end_lineno or 0, column, name.encode(), numbers[name]))
    return found


def measured(level: str, every: int) -> tuple[int, int, int]:
    """The findings that the bad cases expect, those of them that are told, and the certain ones in good cases."""
    wanted = told = false = 0
    for case in sorted(CASES.glob("*/*.py"))[::every]:
        code, source = case.parent.name, case.read_bytes()
        if code.startswith("GATE"):
            continue
        text = renamed(source, level)
        result = analyse(Sources([SourceFile(case.name, text)]), StaticSettings(select=(code,)), merged=False)
        found = {(each.line, each.rule) for each in result.findings if each.rule == code}
        marks = {
            (number, mark[1].decode())
            for number, line in enumerate(source.split(b"\n"), 1)
            if (mark := EXPECT.search(line)) and mark[1].decode() == code
        }
        wanted, told = wanted + len(marks), told + len(marks & found)
        sure = {each.line for each in result.findings if each.rule == code and each.certainty == "certain"}
        false += len(sure - {line for line, _ in marks})
    return wanted, told, false


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="look at every Nth case only")
    parser.add_argument("--level", choices=LEVELS, action="append", help="a level; all of them without")
    asked = parser.parse_args()
    for level in asked.level or LEVELS:
        wanted, told, false = measured(level, asked.every)
        lost = 100 * (wanted - told) / wanted
        print(f"{level:12}{told:5} of {wanted} expected findings, {lost:.1f} % lost; {false} certain and false")


if __name__ == "__main__":
    main()

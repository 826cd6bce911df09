"""Which statements a first run of a program comes to, on one machine and with nothing switched on by an option."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set
from enum import IntEnum
from functools import cached_property

from verifygate.base.fixpoint import fixpoint
from verifygate.programs.option import NOT_KNOWN, Option, Takes, literal
from verifygate.programs.reach import Reached
from verifygate.programs.small_settings import Proposal
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_script

_FIRST = re.compile(r"rank|is_main|master")
_EXISTS = re.compile(r"exists|isfile|isdir|is_file|is_dir")
_SWITCHES = frozenset({Takes.NOTHING, Takes.SWITCHES_OFF})


class Comes(IntEnum):
    """Whether a first run comes by a place."""

    NO = 0
    """It stands behind a switch that is off by default."""
    PERHAPS = 1
    """It stands behind a condition of which nothing is known."""
    YES = 2


class FirstRun:
    """Answers for the functions that one program reaches."""

    def __init__(
        self, reached: Reached, options: Iterable[Option], small: Iterable[Proposal], enclosing: EnclosingNodes
    ) -> None:
        self._reached = reached
        self._enclosing = enclosing
        self._values = _bound_in(reached.functions[0]) | _defaults(list(options))
        self._values |= {each.option.name: each.value for each in small}
        """Name of an option, or of a variable of the file -> what it is in this run."""

    def comes_by(self, node: ast.AST, function: Function) -> Comes:
        """Whether a first run comes by a node of a function: the least certain of all that leads there."""
        above = Comes.YES if function in self._certain else Comes.PERHAPS if function in self._possible else Comes.NO
        return min(above, self._within(node, function))

    @cached_property
    def _certain(self) -> Set[Function]:
        return fixpoint(self._reached.functions[:1], lambda each: self._called(each, Comes.YES))

    @cached_property
    def _possible(self) -> Set[Function]:
        return fixpoint(self._reached.functions[:1], lambda each: self._called(each, Comes.PERHAPS))

    def _called(self, function: Function, least: Comes) -> Iterator[Function]:
        calls = self._reached.calls.get(function, ())
        return (callee for callee, call in calls if self._within(call, function) >= least)

    def is_looked_for(self, node: ast.AST, function: Function) -> bool:
        """Whether the program asks first if something is there: what it reads then need not be."""
        around = (each.node for each in self._enclosing.around(node, function))
        tests = (each.test for each in around if isinstance(each, ast.If | ast.IfExp))
        return any(_EXISTS.search(ast.unparse(test)) for test in tests)

    def _within(self, node: ast.AST, function: Function) -> Comes:
        found = Comes.YES
        for each in self._enclosing.around(node, function):
            outer = each.node
            if isinstance(outer, ast.If | ast.IfExp) and each.part in ("body", "orelse"):
                found = min(found, self._met(outer.test) if each.part == "body" else self._not_met(outer.test))
            if isinstance(outer, ast.Try) and each.part == "handlers":
                found = min(found, Comes.PERHAPS)
        return found

    def _not_met(self, test: ast.expr) -> Comes:
        return Comes(Comes.YES - self._met(test))

    def _met(self, test: ast.expr) -> Comes:
        """Whether a condition holds: its values are those of the options, and of the words of a first run."""
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return min(map(self._met, values))
            case ast.BoolOp(op=ast.Or(), values=values):
                return max(map(self._met, values))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self._not_met(inner)
            case ast.Name() | ast.Attribute() if last_name(test) in self._values:
                return Comes.YES if self._values[last_name(test)] else Comes.NO
            case ast.Compare(left=ast.Name() | ast.Attribute() as left, ops=[op], comparators=[right]):
                other = literal(right)
                if last_name(left) in self._values and other is not NOT_KNOWN:
                    return _compared(self._values[last_name(left)], op, other)
            case ast.Call(func=ast.Attribute(value=on, attr="startswith"), args=[ast.Constant(value=str(start))]):
                if last_name(on) in self._values:
                    return Comes.YES if str(self._values[last_name(on)]).startswith(start) else Comes.NO
        return _in_a_first_run(test)


def _defaults(options: list[Option]) -> dict[str, object]:
    """Name -> default, of options whose name no other has with another default: keys of a configuration may."""
    found: dict[str, object] = {}
    several: set[str] = set()
    for each in options:
        if not each.required and each.default is not NOT_KNOWN:
            value = each.takes is Takes.SWITCHES_OFF if each.takes in _SWITCHES else each.default
            if found.setdefault(each.name, value) != value:
                several.add(each.name)
    return {name: value for name, value in found.items() if name not in several}


def _in_a_first_run(test: ast.expr) -> Comes:
    """Nothing is there yet, and there is one process, of rank 0."""
    text = ast.unparse(test)
    if _EXISTS.search(text):
        return Comes.NO
    if is_script(test) or _FIRST.search(text):
        turned = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq | ast.Gt | ast.NotIn)
        return Comes.NO if turned else Comes.YES
    return Comes.PERHAPS


def _compared(value: object, op: ast.cmpop, other: object) -> Comes:
    """The answer of a comparison with a literal; of an order of numbers, nothing is said."""
    if isinstance(op, ast.Eq | ast.Is):
        holds = str(value) == str(other)
    elif isinstance(op, ast.NotEq | ast.IsNot):
        holds = str(value) != str(other)
    elif isinstance(op, ast.In | ast.NotIn) and isinstance(other, list | tuple | set | dict):
        holds = (str(value) in map(str, other)) is isinstance(op, ast.In)
    else:
        return Comes.PERHAPS
    return Comes.YES if holds else Comes.NO


def _bound_in(body: Function) -> dict[str, object]:
    """The names that a file binds once, at its top level, to a plain literal: `init_from = "scratch"`."""
    found: dict[str, object] = {}
    again: set[str] = set()
    for node in body.of_kind(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                again |= {target.id} & found.keys()
                found[target.id] = literal(node.value)
    return {name: value for name, value in found.items() if name not in again and value is not NOT_KNOWN}

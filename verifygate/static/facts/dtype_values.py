"""Value-set analysis of dtypes: which dtypes an expression may stand for.

`torch.bfloat16 if ok else torch.float16` is {BFLOAT16, FLOAT16}; so is `DTYPES[name]` of a table of the two, and
`getattr(torch, args.dtype)` where the option has these two for choices. Names, attributes, fields of records and
arguments are followed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from verifygate.static.amp.roles import Roles
from verifygate.static.facts.dtype_lattice import BY_NAME, Dtype, named
from verifygate.static.symbols.program import Class
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_none
from verifygate.static.values.call_graph import CallGraph
from verifygate.static.values.domain import (
    Bound,
    DictLiteral,
    ExternalName,
    Frame,
    Literal,
    Object,
    dict_items,
    given_field,
)

_MAX_STEPS = 5
_DTYPES = frozenset(BY_NAME.values())


class DtypeValues:
    """Answers for one set of modules."""

    def __init__(self, roles: Roles, callers: CallGraph) -> None:
        self.roles = roles
        self.evaluator = roles.evaluator
        self.callers = callers

    def of(self, expr: ast.expr, frame: Frame, steps: int = 0) -> frozenset[Dtype]:
        """The dtypes that an expression may stand for; UNKNOWN is one of them where the source does not tell all."""
        if steps > _MAX_STEPS:
            return frozenset({Dtype.UNKNOWN})
        match expr:
            case ast.IfExp():
                return self.of(expr.body, frame, steps + 1) | self.of(expr.orelse, frame, steps + 1)
            case ast.Subscript(value=table) | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[_, *_]):
                if items := self._items(table, frame):
                    default = [Bound(each, frame) for each in expr.args[1:2]] if isinstance(expr, ast.Call) else []
                    every = (self.of(each.expr, each.frame, steps + 1) for each in (*items, *default))
                    return frozenset().union(*every)
        if names := self._choices_of(expr, frame):
            return frozenset(named(f"torch.{name}") for name in names)
        found = self._evaluated(expr, frame)
        if Dtype.UNKNOWN in found and (defined := self._by_definitions(expr, frame, steps)):
            return (found - {Dtype.UNKNOWN}) | defined
        return found or frozenset({Dtype.UNKNOWN})

    def compare(self, test: ast.expr, frame: Frame) -> bool | None:
        """Whether a comparison, `self.dtype == torch.float16`, holds for all dtypes its sides may be, or for none."""
        match test:
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.Is() | ast.NotEq() | ast.IsNot() as op], comparators=[right]
            ):
                one, other = self.of(left, frame), self.of(right, frame)
            case _:
                return None
        if Dtype.UNKNOWN in one | other or (len(one | other) > 1 and not one.isdisjoint(other)):
            return None
        return (one == other) is isinstance(op, ast.Eq | ast.Is)

    def _evaluated(self, expr: ast.expr, frame: Frame) -> frozenset[Dtype]:
        """What the evaluator finds; None stands for no dtype."""
        values = self.evaluator.values(expr, frame)
        tensors = (each for each in values if not (isinstance(each, Literal) and each.value is None))
        return frozenset(named(each.name) if isinstance(each, ExternalName) else Dtype.UNKNOWN for each in tensors)

    def _items(self, table: ast.expr, frame: Frame) -> list[Bound]:
        """The values of a table of dtypes that is written out: `DTYPES = {"fp16": torch.float16, ...}`."""
        return [
            Bound(item, value.frame)
            for value in self.evaluator.values(table, frame)
            if isinstance(value, DictLiteral)
            for item in dict_items(value.node).values()
        ]

    def _by_definitions(self, expr: ast.expr, frame: Frame, steps: int) -> frozenset[Dtype]:
        """The dtypes of the definitions of a name or an attribute; empty where there are none in sight."""
        passed = [self.of(each.expr, each.frame, steps + 1) for each in self._fields_given(expr, frame)]
        bound = [self._of_binding(binding, home, steps + 1) for binding, home in self.bindings(expr, frame)]
        return frozenset().union(*passed, *bound, *self._in_class_bodies(expr, frame, steps))

    def _in_class_bodies(self, expr: ast.expr, frame: Frame, steps: int) -> Iterator[frozenset[Dtype]]:
        """What the bodies of the classes that an object may be of bind an attribute to, but for None."""
        if not isinstance(expr, ast.Attribute):
            return
        objects = [each for each in self.evaluator.values(expr.value, frame) if isinstance(each, Object)]
        for value in objects:
            for binding, owner, holder, _ in self.evaluator.hierarchy.bindings(value, expr, frame):
                if owner is None and binding.kind == "value" and binding.expr is not None and not is_none(binding.expr):
                    yield self.of(binding.expr, self.evaluator.module_frame(holder.module), steps + 1)

    def _of_binding(self, binding: Binding, home: Frame, steps: int) -> frozenset[Dtype]:
        if binding.kind == "value" and binding.expr is not None:
            return self.of(binding.expr, home, steps)
        if binding.kind == "parameter":
            given = self._parameter_given(binding.node.arg, home)  # type: ignore[attr-defined]
            if given:
                return frozenset().union(*(self.of(each.expr, each.frame, steps) for each in given))
        return frozenset({Dtype.UNKNOWN})

    def _parameter_given(self, name: str, home: Frame) -> list[Bound]:
        """The arguments that calls pass for a parameter, tests aside; none where one leaves it to the default."""
        if (bound := home.arguments.get(name)) is not None:
            return [bound]
        if home.caller is not None or not _speaks_of_dtype(name):
            return []
        entered = [each for site, each in self.callers.entries(home.function) if not site.caller.module.file.is_test]
        given = [each.arguments.get(name) for each in entered]
        return [each for each in given if each is not None] if None not in given else []

    def _fields_given(self, expr: ast.expr, frame: Frame) -> list[Bound]:
        """The arguments that the constructor calls of a dataclass or named tuple pass for a field of it."""
        if not isinstance(expr, ast.Attribute) or not _speaks_of_dtype(expr.attr):
            return []
        records = [each.made for each in self.evaluator.values(expr.value, frame) if isinstance(each, Object)]
        return [
            given
            for made in records
            if expr.attr in made.fields
            for value in self._records.get(made, ())
            if (given := given_field(value, expr.attr))
        ]

    @cached_property
    def _records(self) -> dict[Class, list[Object]]:
        """The allocation sites of dataclasses and named tuples, tests aside, by class."""
        found: dict[Class, list[Object]] = {}
        names = {made.node.name for module in self.evaluator.modules for made in module.classes.values() if made.fields}
        for module in self.evaluator.modules:
            for function in (module.body, *module.functions.values()) if not module.file.is_test else ():
                for call in function.calls:
                    if last_name(call.func) in names:
                        for value in self.evaluator.values(call, self.evaluator.root_frame(function)):
                            if isinstance(value, Object):
                                found.setdefault(value.made, []).append(value)
        return found

    def _choices_of(self, expr: ast.expr, frame: Frame) -> frozenset[str]:
        """The choices of the option that names an attribute of torch: `getattr(torch, args.dtype)`."""
        match expr:
            case ast.Call(func=ast.Name(id="getattr"), args=[torch, ast.Name() | ast.Attribute() as name, *_]):
                if self.roles.known_name(torch, frame) == "torch":
                    return self._choices.get(last_name(name), frozenset())
        return frozenset()

    def may_be_one(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression of which nothing is known stands for a dtype: by its name, or by its default."""
        if not isinstance(expr, ast.Name | ast.Attribute | ast.Subscript):
            return False
        if _speaks_of_dtype(last_name(expr)):
            return True
        default = frame.function.default(expr.id) if isinstance(expr, ast.Name) else None
        home = self.evaluator.module_frame(frame.function.module)
        return default is not None and not self.of(default, home).isdisjoint(_DTYPES)

    def choices(self, option: str) -> frozenset[str]:
        """The `choices` of a command line option, where they are written out."""
        return self._choices.get(option, frozenset())

    @cached_property
    def _choices(self) -> dict[str, frozenset[str]]:
        """Name of a command line option -> its `choices`, where they are written out."""
        found: dict[str, frozenset[str]] = {}
        for module in self.evaluator.modules:
            for function in module.all_functions:
                for call in function.calls:
                    if last_name(call.func) == "add_argument" and (option := _option(call)):
                        found[option[0]] = option[1] | found.get(option[0], frozenset())
        return found

    def bindings(self, expr: ast.expr, frame: Frame) -> Iterator[tuple[Binding, Frame]]:
        """The definitions of a name or an attribute, each with the frame to evaluate it in."""
        if isinstance(expr, ast.Name) and (found := self.evaluator.lookup(expr.id, frame)):
            yield from ((binding, found[1]) for binding in found[0])
        elif isinstance(expr, ast.Attribute):
            for value in self.evaluator.values(expr.value, frame):
                if isinstance(value, Object):
                    for binding, owner, *_ in self.evaluator.hierarchy.bindings(value, expr, frame):
                        if owner is not None:
                            yield binding, self.evaluator.root_frame(owner)


def _option(call: ast.Call) -> tuple[str, frozenset[str]] | None:
    """The name of an option with `choices`, and those: `add_argument("--dtype", choices=["float16", "bfloat16"])`."""
    flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    choices = next((word.value for word in call.keywords if word.arg == "choices"), None)
    if not flags or not isinstance(choices, ast.List | ast.Tuple):
        return None
    names = [each.value for each in choices.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return max(flags, key=len).lstrip("-").replace("-", "_"), frozenset(names)


def _speaks_of_dtype(name: str) -> bool:
    return re.search(r"(?i)type|precision|half|amp", name) is not None

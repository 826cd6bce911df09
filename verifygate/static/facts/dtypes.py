"""The dtypes that an expression may be: through names, attributes, tables, options and what calls hand over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property

from verifygate.static.amp.roles import Roles
from verifygate.static.symbols.program import Class
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.values.call_graph import Callers
from verifygate.static.values.domain import Bound, DictLiteral, Frame, Known, Literal, Object, dict_items, given_field


class Dtype(StrEnum):
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    OTHER = "other"
    UNKNOWN = "unknown"


_NAMES = {
    "torch.float16": Dtype.FLOAT16,
    "torch.half": Dtype.FLOAT16,
    "torch.bfloat16": Dtype.BFLOAT16,
    "torch.float32": Dtype.OTHER,
    "torch.float": Dtype.OTHER,
    "torch.float64": Dtype.OTHER,
}
_MAX_STEPS = 5


class Dtypes:
    """Answers for one set of modules."""

    def __init__(self, roles: Roles, callers: Callers) -> None:
        self.roles = roles
        self.evaluator = roles.evaluator
        self.callers = callers

    def of(self, expr: ast.expr, frame: Frame, steps: int = 0) -> frozenset[Dtype]:
        """The dtypes that an expression may be, through names, attributes and tables of dtypes."""
        if steps > _MAX_STEPS:
            return frozenset({Dtype.UNKNOWN})
        if isinstance(expr, ast.IfExp):
            return self.of(expr.body, frame, steps + 1) | self.of(expr.orelse, frame, steps + 1)
        if (asked := _asked_for_items(expr)) is not None:
            tables = [value for value in self.evaluator.values(asked, frame) if isinstance(value, DictLiteral)]
            items = [(item, table.frame) for table in tables for item in dict_items(table.node).values()]
            if items:
                return frozenset().union(*(self.of(item, home, steps + 1) for item, home in items))
        if names := self._looked_up(expr, frame):
            return frozenset(_NAMES.get(f"torch.{name}", Dtype.OTHER) for name in names)
        found: set[Dtype] = set()
        for value in self.evaluator.values(expr, frame):
            match value:
                case Known(name=name):
                    found.add(_NAMES.get(name, Dtype.OTHER if name.startswith("torch.") else Dtype.UNKNOWN))
                case Literal(value=None):
                    pass
                case _:
                    found.add(Dtype.UNKNOWN)
        if Dtype.UNKNOWN in found:
            bound = list(self.bindings(expr, frame))
            handed = self._fields_given(expr, frame)
            if bound or handed:
                found.discard(Dtype.UNKNOWN)
            for given in handed:
                found |= self.of(given.expr, given.frame, steps + 1)
            for binding, home in bound:
                found |= self._of_binding(binding, home, steps + 1)
        return frozenset(found or {Dtype.UNKNOWN})

    def _of_binding(self, binding: Binding, home: Frame, steps: int) -> frozenset[Dtype]:
        if binding.kind == "value" and binding.expr is not None:
            return self.of(binding.expr, home, steps)
        if binding.kind == "parameter":
            given = self._parameter_given(binding.node.arg, home)  # type: ignore[attr-defined]
            if given:
                return frozenset().union(*(self.of(each.expr, each.frame, steps) for each in given))
        return frozenset({Dtype.UNKNOWN})

    def _parameter_given(self, name: str, home: Frame) -> list[Bound]:
        """What the calls of a function give for a parameter, tests aside; nothing where one of them leaves it out."""
        if (bound := home.arguments.get(name)) is not None:
            return [bound]
        if home.caller is not None or not _speaks_of_dtype(name):
            return []
        entered = [each for site, each in self.callers.entries(home.function) if not site.caller.module.file.is_test]
        given = [each.arguments.get(name) for each in entered]
        return [each for each in given if each is not None] if None not in given else []

    def _fields_given(self, expr: ast.expr, frame: Frame) -> list[Bound]:
        """What the calls that make a record of the project give for a field of it."""
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
        """The records that the project makes, tests aside, by class."""
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

    def _looked_up(self, expr: ast.expr, frame: Frame) -> frozenset[str]:
        """The names among which an option chooses that torch is asked for: `getattr(torch, args.dtype)`."""
        match expr:
            case ast.Call(func=ast.Name(id="getattr"), args=[torch, ast.Name() | ast.Attribute() as name, *_]):
                if self.roles.known_name(torch, frame) == "torch":
                    return self._choices.get(last_name(name), frozenset())
        return frozenset()

    @cached_property
    def _choices(self) -> dict[str, frozenset[str]]:
        """Name of an option of a command line -> what it may be given, where that is written out."""
        found: dict[str, frozenset[str]] = {}
        for module in self.evaluator.modules:
            for function in module.all_functions:
                for call in function.calls:
                    if last_name(call.func) == "add_argument" and (named := _option(call)):
                        found[named[0]] = named[1] | found.get(named[0], frozenset())
        return found

    def bindings(self, expr: ast.expr, frame: Frame) -> Iterator[tuple[Binding, Frame]]:
        """How a name or an attribute gets its value, and where."""
        if isinstance(expr, ast.Name) and (found := self.evaluator.lookup(expr.id, frame)):
            yield from ((binding, found[1]) for binding in found[0])
        elif isinstance(expr, ast.Attribute):
            for value in self.evaluator.values(expr.value, frame):
                if isinstance(value, Object):
                    for made in self.evaluator.linearised(value.made):
                        for binding, owner in made.attributes.get(expr.attr, ()):
                            if owner is not None:
                                yield binding, self.evaluator.root_frame(owner)


def _option(call: ast.Call) -> tuple[str, frozenset[str]] | None:
    """The name of an option that takes one of several strings, and those."""
    flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    choices = next((word.value for word in call.keywords if word.arg == "choices"), None)
    if not flags or not isinstance(choices, ast.List | ast.Tuple):
        return None
    names = [each.value for each in choices.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return max(flags, key=len).lstrip("-").replace("-", "_"), frozenset(names)


def _speaks_of_dtype(name: str) -> bool:
    return re.search(r"(?i)type|precision|half|amp", name) is not None


def _asked_for_items(expr: ast.expr) -> ast.expr | None:
    """The table of `table[key]` or `table.get(key)`."""
    match expr:
        case ast.Subscript(value=table) | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[_, *_]):
            return table
    return None

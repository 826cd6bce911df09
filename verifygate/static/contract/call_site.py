"""A call of an outside name, and what its arguments say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from verifygate.base.records import record
from verifygate.configured_precision.options import default_of
from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.conditions import ON_ONE_PATH, chosen_where, condition_at, joined
from verifygate.static.contract.fact import Fact
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.values.domain import Frame, Literal


@record
class CallSite:
    """A call of an outside name, ready to be asked for its arguments."""

    analysis: Analysis
    call: ast.Call
    function: Function
    name: str
    """Qualified name of the callee; of a subclass in the project, that of the class outside."""
    frame: Frame

    def given(self, name: str, position: int | None = None) -> ast.expr | None:
        """An argument by its name, or by its position."""
        named = next((word.value for word in self.call.keywords if word.arg == name), None)
        if named is None and position is not None and position < len(self.call.args):
            return self.call.args[position]
        return named

    @property
    def is_spread(self) -> bool:
        """Whether a part of the arguments is a dict that is not written out in the call."""
        return any(word.arg is None for word in self.call.keywords)

    def words(self, expr: ast.expr) -> tuple[str, ...]:
        """The texts that an argument may be; none where one of them is not known."""
        values = self.analysis.evaluator.values(expr, self.frame)
        known = [str(each.value) for each in values if isinstance(each, Literal)]
        return tuple(dict.fromkeys(known)) if len(known) == len(values) else ()

    def fact(self, aspect: Aspect, value: str = "", **more: str) -> Fact:
        if value and aspect is not Aspect.DRIVER:
            around = condition_at(Location(self.function, self.call), self.analysis)
            more["condition"] = more.get("condition") or around
        return Fact(aspect=aspect, path=self.function.module.path, line=self.call.lineno, value=value, **more)

    def dtype(self, aspect: Aspect, expr: ast.expr | None, note: str) -> Iterator[Fact]:
        """The dtypes that an argument may be, or that they are not followed."""
        if expr is None or (isinstance(expr, ast.Constant) and expr.value is None):
            return
        dtypes = self.analysis.dtype_values.of(expr, self.frame)
        condition = ON_ONE_PATH if len(dtypes) > 1 else ""
        for dtype in sorted(dtypes - {Dtype.UNKNOWN}):
            chosen = chosen_where(expr, dtype, self.function, self.analysis)
            around = condition_at(Location(self.function, self.call), self.analysis)
            yield self.fact(aspect, str(dtype), note=note, condition=joined(chosen, around) or condition)
        if Dtype.UNKNOWN in dtypes:
            yield self.fact(aspect, gap=f"{note}: `{in_short(expr)}`")


Reader = Callable[[CallSite], Iterator[Fact]]


def argparse_default(expr: ast.expr, module: Module) -> str | None:
    """The default of the option that `args.precision` is, where the same file adds it to a parser of `argparse`."""
    if not isinstance(expr, ast.Attribute):
        return None
    for function in module.all_functions if module.mentions(b"add_argument(") else ():
        if (default := default_of(expr.attr, function.calls)) is not None:
            return str(default.value)
    return None


def in_short(expr: ast.expr | None) -> str:
    text = " ".join(ast.unparse(expr).split()) if expr is not None else ""
    return text if len(text) <= 60 else text[:57] + "..."

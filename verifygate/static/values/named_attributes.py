"""Evaluate `getattr` with a name that the source tells: `getattr(callback, f"on_{event}")`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verifygate.static.values.domain import UNKNOWN, Frame, FunctionValue, Literal, Object, Value, Values

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


_MOST = 8
"""Texts of which one expression may be any."""


class NamedAttributes:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator

    def of(self, call: ast.Call, frame: Frame) -> list[Value]:
        """What `getattr` gives where the source tells the names and the project the attributes; else nothing."""
        evaluator = self._evaluator
        names = {value.value for value in evaluator.values(call.args[1], frame) if isinstance(value, Literal)}
        bases = [value for value in evaluator.values(call.args[0], frame) if isinstance(value, Object)] if names else []
        default = [value for each in call.args[2:] for value in evaluator.values(each, frame)]
        found: list[Value] = []
        for base in bases:
            for name in sorted(map(str, names)):
                known = evaluator.attribute(base, name, call.args[0], frame)
                found += default if default and UNKNOWN in known and self._is_without(base, name) else known
        return found if not default or all(each.__class__ is FunctionValue for each in found) else [*found, *default]

    def _is_without(self, value: Object, name: str) -> bool:
        """Whether an object surely lacks an attribute: its classes are all in sight, and none has it or makes it."""
        classes = self._evaluator.linearised(value.made)
        own = any(name in each.methods or name in each.attributes or "__getattr__" in each.methods for each in classes)
        return not own and self._evaluator.outside_bases(value.made) <= {"builtins.object", "abc.ABC"}


def as_text(values: Values) -> list[Value]:
    """What `str` gives of values."""
    return [Literal(str(each.value)) if isinstance(each, Literal) else UNKNOWN for each in values]


def written_out(expr: ast.JoinedStr | ast.BinOp, frame: Frame, evaluator: Evaluation) -> list[Value]:
    """The texts that an f-string may be, or texts joined by `+`, as far as the parts of it are known."""
    parts = expr.values if isinstance(expr, ast.JoinedStr) else [expr.left, expr.right]
    found, unknown = [""], False
    for part in parts:
        if isinstance(part, ast.FormattedValue) and (part.conversion != -1 or part.format_spec is not None):
            return [UNKNOWN]
        values = evaluator.values(part.value if isinstance(part, ast.FormattedValue) else part, frame)
        known = [each.value for each in values if isinstance(each, Literal)]
        shown = [str(each) for each in known if isinstance(each, str | int)]
        if not shown or len(found) * len(shown) > _MOST or (isinstance(expr, ast.BinOp) and shown != known):
            return [UNKNOWN]
        unknown = unknown or len(shown) < len(values)
        found = [text + more for text in found for more in shown]
    return [*map(Literal, found), *([UNKNOWN] if unknown else [])]

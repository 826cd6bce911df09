"""Evaluate a subscript of a tuple, a list or a dict that is written out somewhere."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifygate.framework_names import UNPACKED
from verifygate.static.values.domain import (
    UNKNOWN,
    ClassValue,
    DictLiteral,
    ExternalResult,
    Frame,
    FunctionValue,
    Items,
    Literal,
    Value,
    Values,
    dict_items,
    whole,
)

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


class Subscripts:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator

    def item(self, expr: ast.expr, position: int, frame: Frame) -> Sequence[Value]:
        """What a variable gets that unpacks an expression, by its position."""
        found: list[Value] = []
        for value in self._evaluator.values(expr, frame):
            if isinstance(value, Items) and position < len(value.elements):
                found += self._evaluator.values(value.elements[position], value.frame)
            elif isinstance(value, ExternalResult) and position < len(parts := UNPACKED.get(value.name, ())):
                found.append(ExternalResult(parts[position], value.calls))
            else:
                found += self._held(expr, position, frame)
        return found

    def of(self, expr: ast.Subscript, frame: Frame) -> Sequence[Value]:
        """What `held[key]` can be."""
        values = self._evaluator.values
        asked = values(expr.slice, frame)
        if len(asked) != 1 or not isinstance(asked[0], Literal):
            return self._by_any_key(expr.value, frame)
        key = asked[0].value
        found: list[Value] = []
        for value in values(expr.value, frame):
            if isinstance(value, Items) and isinstance(key, int) and -len(value.elements) <= key < len(value.elements):
                found += values(value.elements[key], value.frame)
            elif isinstance(value, DictLiteral) and isinstance(key, str):
                item = dict_items(value.node).get(key)
                found += values(item, value.frame) if item is not None else self._held(expr.value, key, frame)
            else:
                found += self._held(expr.value, key, frame)
        return found

    def _held(self, holder: ast.expr, key: object, frame: Frame) -> Values:
        """What a container that is not written out holds under a key."""
        element = self._evaluator.containers.at(holder, key, frame)
        return self._evaluator.values(element.expr, element.frame) if element is not None else (UNKNOWN,)

    def _by_any_key(self, table: ast.expr, frame: Frame) -> Sequence[Value]:
        """What a key that nobody knows may pick from a dict written out.

        From one that has a name: a class, or a tuple that is unpacked to one.
        """
        values = self._evaluator.values
        written = isinstance(table, ast.Dict)
        tables: Values = (DictLiteral(table, frame),) if isinstance(table, ast.Dict) else values(table, frame)
        items = [item for each in tables for item in whole(each)]
        if not items and (filled := self._evaluator.containers.of(table, frame)) is not None and filled.keys:
            items = list(filled.elements)
        found = [value for item in items for value in values(item.expr, item.frame)]
        chosen = written or all(isinstance(value, ClassValue | FunctionValue | Items) for value in found)
        return found if chosen else [UNKNOWN]

"""Dead code behind a switch that is never on: `self.use = False`, set there and nowhere else, and `if self.use:`."""

from __future__ import annotations

import ast
import re

from verifygate.static.conditions.path_conditions import PathConditions
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.values.evaluator import Evaluator

_SET = (
    rb"""\.%(name)s\b\s*(?:=(?!=)|:[^=\n]*=(?!=)|[|&^]=|,[^=\n]*=(?!=))|["']%(name)s["']|(?<![\w.])%(name)s\s*=(?!=)"""
)
"""What may set an attribute: an assignment to it, its name in quotes, a keyword, or a variable of a class's body."""


class DeadSwitches:
    """Answers for each attribute of a class once."""

    def __init__(self, evaluator: Evaluator, conditions: PathConditions) -> None:
        self._evaluator = evaluator
        self._conditions = conditions
        self._values: dict[tuple[Class, str], bool | None] = {}

    def rule_out(self, place: Location) -> bool:
        """Whether a place only runs where a switch is on that is off in every object, or off where it is on."""
        return any(
            (value := self._of(test, place.function)) is not None and value is not holds
            for test, holds in self._conditions.leaves(place)
        )

    def _of(self, test: ast.expr, function: Function) -> bool | None:
        """Whether an attribute of `self` counts as true, where all that is ever put there is one constant."""
        home: Function | None = function
        while home is not None and home.owner is None:
            home = home.enclosing
        match test:
            case ast.Attribute(value=ast.Name(id=this), attr=name) if (
                home is not None
                and home.owner is not None
                and home.parameters
                and home.parameters[0].arg == this
                and not home.is_static
            ):
                key = (home.owner, name)
                if key not in self._values:
                    self._values[key] = self._constant(*key)
                return self._values[key]
        return None

    def _constant(self, made: Class, name: str) -> bool | None:
        """The one constant that the class, those above it and those below it give the attribute."""
        family = dict.fromkeys((*self._evaluator.linearised(made), *self._evaluator.below(made)))
        bound = [binding.expr for each in family for binding, _ in each.attributes.get(name, ())]
        values = {expr.value for expr in bound if isinstance(expr, ast.Constant) and isinstance(expr.value, bool)}
        if len(values) != 1 or not all(isinstance(expr, ast.Constant) for expr in bound):
            return None
        if any(map(self._evaluator.sets_by_name, family)) or self._is_set_elsewhere(name, list(family)):
            return None
        return values.pop()

    def _is_set_elsewhere(self, name: str, family: list[Class]) -> bool:
        """Whether any file says something that may set it for these objects, but for what their classes do."""
        pattern = re.compile(_SET % {b"name": re.escape(name).encode()})
        own = {each.module.path for each in family}
        names = [each.node.name.encode() for each in family]
        for file in self._evaluator.program.sources:
            if name.encode() not in file.data:
                continue
            derives = file.path not in own and any(each in file.data for each in names)
            for found in pattern.finditer(file.data):
                of_self = found[0].startswith(b".") and file.data[: found.start()].endswith((b"self", b"cls"))
                if file.is_code(found.start()) and (derives or not of_self):
                    return True
        return False

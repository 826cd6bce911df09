"""Branch conditions as texts, with the definitions that they depend on: a backward slice, written out.

A rule that looks for words (`bf16`, `cuda`, `amp`) in a condition finds them in `use_amp ; args.precision == "bf16"`,
where `use_amp` alone would say nothing.
"""

from __future__ import annotations

import ast
import re

from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import expand
from verifygate.static.facts.dtype_predicates import excludes_bfloat16, requires_bfloat16
from verifygate.static.facts.dtype_values import DtypeValues
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import CallGraph
from verifygate.static.values.domain import Bound, Frame

_MAX_STEPS = 5


class ConditionTexts:
    """Answers for the conditions of one set of modules."""

    def __init__(self, roles: Roles, dtype_values: DtypeValues, callers: CallGraph, nesting: EnclosingNodes) -> None:
        self.roles = roles
        self.evaluator = roles.evaluator
        self.dtype_values = dtype_values
        self.callers = callers
        self.nesting = nesting

    def with_definitions(self, expr: ast.expr, frame: Frame, steps: int = 0, through: ast.Call | None = None) -> str:
        """The text of a condition, then those of the definitions of its names: `amp ; args.fp16 ; ...`.

        A parameter's definition is the argument of the one call of its function; of many calls, that of `through`.
        """
        parts = [ast.unparse(expr)]
        if steps < _MAX_STEPS:
            for node in walk(expr):
                if isinstance(node, ast.Name | ast.Attribute):
                    for binding, home in self.dtype_values.bindings(node, frame):
                        if binding.kind == "value" and binding.expr is not None:
                            parts.append(self.with_definitions(binding.expr, home, steps + 2, through))
                        elif binding.kind == "parameter":
                            given = self._arguments(binding, home, through)
                            parts += [self.with_definitions(each.expr, each.frame, steps + 2) for each in given]
        return " ; ".join(parts)

    def with_copies_propagated(self, expr: ast.expr, frame: Frame, steps: int = 0) -> str:
        """The text of a condition after copy propagation: `cfg.amp` is `self.cfg.amp` after `cfg = self.cfg`."""
        text = ast.unparse(expr)
        for node in walk(expr) if steps < _MAX_STEPS else ():
            if isinstance(node, ast.Name) and (found := self.evaluator.lookup(node.id, frame)) and len(found[0]) == 1:
                given = found[0][0].expr
                if found[0][0].kind == "value" and isinstance(given, ast.Name | ast.Attribute):
                    meant = self.with_copies_propagated(given, found[1], steps + 1)
                    text = re.sub(rf"(?<![\w.]){node.id}\b", meant, text)
        return text

    def _arguments(self, binding: Binding, home: Frame, through: ast.Call | None) -> list[Bound]:
        """What the one call of a function passes for a parameter, or that of many which is meant."""
        sites = self.callers.sites(home.function)
        meant = [site.call for site in sites if site.call is through] or [site.call for site in sites]
        if len(meant) != 1:
            return []
        name = binding.node.arg  # type: ignore[attr-defined]
        return [bound for site, bound in self.callers.given(name, home.function) if site.call is meant[0]]

    def is_on_for_bfloat16_only(self, region: WrittenRegion) -> bool:
        """Whether `enabled=` of a region requires bfloat16, whatever the region computes in then."""
        enabled = region.region.enabled
        return enabled is not None and requires_bfloat16(self.with_definitions(enabled.expr, enabled.frame), True)

    def excludes_bfloat16(self, call: ast.Call, function: Function) -> bool:
        """Whether a call is on a branch that bfloat16 does not take: `if dtype == torch.bfloat16: ... else: call()`."""
        frame = self.evaluator.root_frame(function)
        return any(self._excludes(test, holds, frame) for test, holds in self.nesting.conditions(call, function))

    def _excludes(self, test: ast.expr, holds: bool, frame: Frame) -> bool:
        test, frame = expand(test, frame, self.roles)
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self._excludes(test.operand, not holds, frame)
            case ast.BoolOp():
                parts = [self._excludes(each, holds, frame) for each in test.values]
                return any(parts) if isinstance(test.op, ast.And) is holds else all(parts)
        return excludes_bfloat16(test, holds)

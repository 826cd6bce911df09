"""Code that runs only where CUDA is not there: branches of `torch.cuda.is_available()`, and what they alone call."""

from __future__ import annotations

import ast

from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.path_conditions import PathConditions
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.call_graph import CallGraph
from verifygate.static.values.domain import ExternalResult, Literal

_AVAILABLE = frozenset({"torch.cuda.is_available", "torch.backends.cuda.is_built"})
_DEPTH = 4


class CudaConditions:
    """Tells of a node whether it runs only where no CUDA device is used."""

    def __init__(self, roles: Roles, conditions: PathConditions, call_graph: CallGraph) -> None:
        self._roles = roles
        self._conditions = conditions
        self._call_graph = call_graph

    def is_without_cuda(self, node: ast.AST, function: Function, depth: int = _DEPTH) -> bool:
        """Whether a condition around or before a node rules CUDA out, or one around each call of its function."""
        held = self._conditions.conditions(Location(function, node))
        if any(self._rules_out(test, holds, function) for test, holds in held):
            return True
        sites = self._call_graph.sites(function) if depth else []
        return bool(sites) and all(
            site.caller is not function and self.is_without_cuda(site.call, site.caller, depth - 1) for site in sites
        )

    def _rules_out(self, test: ast.expr, holds: bool, function: Function) -> bool:
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self._rules_out(inner, not holds, function)
            case ast.BoolOp(op=op, values=parts):
                each = (self._rules_out(part, holds, function) for part in parts)
                return any(each) if isinstance(op, ast.And) == holds else all(each)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
                equal = isinstance(op, ast.Eq) == holds
                return any(
                    (text == "cpu") if equal else text.startswith("cuda")
                    for text in (*self._device_type(right, left, function), *self._device_type(left, right, function))
                )
        frame = self._roles.evaluator.root_frame(function)
        values = self._roles.evaluator.values(test, frame)
        return (
            not holds
            and bool(values)
            and all(isinstance(value, ExternalResult) and value.name in _AVAILABLE for value in values)
        )

    def _device_type(self, text: ast.expr, device: ast.expr, function: Function) -> list[str]:
        """The text that a device is compared with: `device.type == "cuda"`."""
        if not (isinstance(device, ast.Attribute) and device.attr == "type") and "device" not in last_name(device):
            return []
        values = self._roles.evaluator.values(text, self._roles.evaluator.root_frame(function))
        return [value.value for value in values if isinstance(value, Literal) and isinstance(value.value, str)]

"""What an operator looks at: one file, the AMP code in it, and who is called what there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from verifygate.model import Construct, ConstructKind
from verifygate.mutation.editable_source import Code
from verifygate.naming import names_a_model_to_train, speaks_of_a_scaler

_METHODS = {
    ConstructKind.SCALE: "scale",
    ConstructKind.BACKWARD: "backward",
    ConstructKind.UNSCALE: "unscale_",
    ConstructKind.SCALER_STEP: "step",
    ConstructKind.UPDATE: "update",
    ConstructKind.ZERO_GRAD: "zero_grad",
    ConstructKind.STATE_SAVED: "state_dict",
    ConstructKind.STATE_LOADED: "load_state_dict",
}
_AUTOCAST = re.compile(r"autocast", re.IGNORECASE)


class Site:
    """One file that holds AMP code."""

    def __init__(self, code: Code, constructs: Sequence[Construct], everywhere: Sequence[Construct]) -> None:
        self.code = code
        self._constructs = constructs
        self.everywhere = everywhere
        """The constructs of all files."""

    def calls(self, kind: ConstructKind, callee: str = "") -> Iterator[ast.Call]:
        """The calls that the constructs of a kind stand for; with `callee`, those of this qualified name alone."""
        method = _METHODS.get(kind)
        for construct in self._constructs:
            if construct.kind is kind and callee in ("", construct.callee):
                found = [
                    call
                    for call in self.code.calls_at(construct.line)
                    if method is None or (isinstance(call.func, ast.Attribute) and call.func.attr == method)
                ]
                meant = [call for call in found if self.code.text(call) == construct.text]
                yield from (meant or found)[:1]

    def statements(self, kind: ConstructKind) -> Iterator[tuple[ast.Call, ast.stmt]]:
        """The calls of a kind that are a statement of their own, or are assigned by one."""
        for call in self.calls(kind):
            statement = self.code.statement(call)
            if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign):
                yield call, statement

    def bare(self, kind: ConstructKind) -> Iterator[tuple[ast.Call, ast.stmt]]:
        """The calls of a kind whose result nobody takes."""
        return ((call, each) for call, each in self.statements(kind) if isinstance(each, ast.Expr))

    @cached_property
    def regions(self) -> list[ast.With]:
        """The `with` statements that enter autocast."""
        withs = [node for node in ast.walk(self.code.tree) if isinstance(node, ast.With)]
        return [each for each in withs if self.is_autocast(each) and self.code.statement(each) is each]

    def is_autocast(self, region: ast.With) -> bool:
        return any(_AUTOCAST.search(ast.unparse(item.context_expr)) for item in region.items)

    def region_of(self, node: ast.AST) -> ast.With | None:
        """The autocast region that a node is in."""
        return next((here for here in self.code.above(node) if here in self.regions), None)

    def beside(self, statement: ast.stmt, kind: ConstructKind, *, before: bool) -> ast.stmt | None:
        """The nearest statement of a kind in the same block, before or behind one."""
        block = self.code.block(statement)
        here = block.index(statement) if statement in block else 0
        mine = {id(each) for _, each in self.statements(kind)}
        others = reversed(block[:here]) if before else block[here + 1 :]
        return next((each for each in others if id(each) in mine), None)

    @cached_property
    def names_scaler(self) -> bool:
        """Whether something in the file goes by the name of a scaler: else its training has none in sight."""
        return any(speaks_of_a_scaler(line) for line in self.code.lines)

    def receiver_of(self, call: ast.Call) -> str:
        """The scaler of `scaler.step(...)`, the optimizer of `optimizer.zero_grad()`, as it is written."""
        return self.code.text(call.func.value) if isinstance(call.func, ast.Attribute) else ""

    def optimizer_of(self, call: ast.Call) -> str:
        """The optimizer of `scaler.step(optimizer)`."""
        return self.code.text(call.args[0]) if call.args else ""

    @cached_property
    def scalers(self) -> set[str]:
        """How scalers are called in this file."""
        kinds = (ConstructKind.SCALE, ConstructKind.SCALER_STEP, ConstructKind.UPDATE, ConstructKind.GET_SCALE)
        found = {self.receiver_of(call) for kind in kinds[:3] for call in self.calls(kind)}
        for construct in self._constructs:
            if construct.kind is ConstructKind.GET_SCALE:
                found.add(construct.text.removesuffix(".get_scale()"))
        return {name for name in found if re.fullmatch(r"[\w.]+", name)}

    def model_of(self, optimizer: ast.Call) -> str:
        """A model whose parameters an optimizer is built with: in the call, or in what its names were given before."""
        function = self.code.function(optimizer)
        queue: list[ast.expr] = [
            *optimizer.args[:1],
            *(each.value for each in optimizer.keywords if each.arg == "params"),
        ]
        seen: set[str] = set()
        while queue:
            expr = queue.pop(0)
            for node in ast.walk(expr):
                if isinstance(node, ast.Call) and (name := self._parameters_of(node)):
                    return name
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    queue += [each.value for each in ast.walk(function) if _binds(each, node.id)]  # type: ignore[attr-defined]
        return ""

    def _parameters_of(self, call: ast.Call) -> str:
        """The model that `.parameters()` is asked of, or that is handed to what sorts them: `groups(model)`."""
        name = ""
        match call:
            case ast.Call(func=ast.Attribute(value=model, attr="parameters" | "named_parameters")):
                name = self.code.text(model)
            case ast.Call(args=args):
                name = next(
                    (each.id for each in args if isinstance(each, ast.Name) and names_a_model_to_train(each.id)), ""
                )
        return name if re.fullmatch(r"[\w.]+", name) else ""


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in node.targets)

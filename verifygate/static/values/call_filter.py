"""Rule calls out by name: `x.view(...)` runs nothing of a project that defines no `view`.

Finding out what `x` is can take a hundred questions, and most methods that a program calls are those of tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate import torch_names
from verifygate.static.symbols.program import Function, Members, Module
from verifygate.static.syntax.names import last_name, simple_name
from verifygate.static.syntax.traversal import children
from verifygate.static.values.domain import Frame
from verifygate.static.values.evaluator import Evaluator

_SIGNALS = (
    torch_names.EVENT_WORDS
    | torch_names.COMMON_WORDS
    | torch_names.SCALER_METHODS
    | torch_names.SHARPNESS_STEPS
    | torch_names.NONLINEAR_GRAD_METHODS
    | torch_names.LIMITING_FUNCTIONS
    | torch_names.GRAD_READINGS
    | torch_names.GRAD_RECORDERS
    | {"zero_", "add_", "mul_", "div_", "copy_", "where", "append", "extend", "add"}
)
"""Methods that mean something in the protocol, whoever has them."""


def scalers_given(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call whose name says that they are scalers."""
    given = (*call.args, *(word.value for word in call.keywords))
    return [each for each in given if isinstance(each, ast.Name | ast.Attribute) and "scal" in last_name(each).lower()]


class CallFilter:
    """The names of functions, classes, variables and attributes in what is known so far of the files."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._learned: dict[Module, int] = {}
        """How many of the definitions at a file's top level are known."""
        self._bound: set[str] = set()
        self._passed_over: set[str] = set()
        self._asked: dict[ast.expr, bool] = {}

    def may_run(self, call: ast.Call, frame: Frame) -> bool:
        """Whether a call can run a function of the project, as far as its files are known."""
        func = call.func
        if func.__class__ is not ast.Attribute or func.attr in self._bound or self._is_imported(func, frame):
            return True
        self._passed_over.add(func.attr)
        return False

    def _is_imported(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `a.b.c` begins with an import: of a file, perhaps, that is parsed once somebody asks for `c`."""
        while isinstance(expr, ast.Attribute):
            expr = expr.value
        found = self._evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        return found is not None and any(binding.kind in ("module", "member") for binding in found[0])

    def may_mean(self, call: ast.Call) -> bool:
        """Whether a call can be an event of the protocol, or run a function of the project."""
        func = call.func
        return func.__class__ is not ast.Attribute or func.attr in self._bound or func.attr in _SIGNALS

    def may_hold(self, expr: ast.expr) -> bool:
        """Whether some call in an expression can mean or run anything, or is given a scaler, whatever it runs."""
        known = self._asked.get(expr)
        if known is None:
            if expr.__class__ is ast.Call and (self.may_mean(expr) or scalers_given(expr)):
                known = True
            else:
                known = any(self.may_hold(child) for child in children(expr))  # type: ignore[arg-type]
            self._asked[expr] = known
        return known

    def learn(self, modules: Iterable[Module]) -> None:
        """Take note of the names in files, as far as somebody looked into them."""
        for module in modules:
            known, now = self._learned.get(module), len(module.members)
            if known == now:
                continue
            self._learned[module] = now
            self._asked.clear()
            if known is None:
                self._bound.update(module.body.scope.names, _set_in(module.body))
            for members in list(module.members.values())[known or 0 :]:
                self._bound.update(_bound(members))

    def has_passed_over_bound_ones(self) -> bool:
        """Whether calls were passed over, since this was asked last, that may run something after all."""
        passed_over, self._passed_over = self._passed_over, set()
        return not passed_over.isdisjoint(self._bound)


def _bound(members: Members) -> Iterator[str]:
    """Every name by which something of a definition can be reached as an attribute."""
    for made in members.classes:
        yield made.node.name
        for node in made.own_nodes:
            if node.__class__ is ast.Name and node.ctx.__class__ is ast.Store:
                yield node.id
            elif node.__class__ is ast.ImportFrom or node.__class__ is ast.Import:
                yield from (alias.asname or alias.name for alias in node.names)
    for function in members.functions:
        yield function.node.name  # type: ignore[union-attr]
        yield from _set_in(function)


def _set_in(function: Function) -> Iterator[str]:
    """The attributes that a function sets, of whatever objects."""
    for node in function.of_kind(ast.Attribute):
        if node.ctx.__class__ is ast.Store:
            yield node.attr
    if function.module.mentions(b"Namespace("):
        for call in function.calls:
            if simple_name(call.func) in ("SimpleNamespace", "Namespace"):
                yield from (word.arg for word in call.keywords if word.arg)

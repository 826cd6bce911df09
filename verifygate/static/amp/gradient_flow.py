"""Gradient flow: whose parameters a backward reaches, by the modules that are called on the way to its loss.

    fake = generator(noise)
    loss = criterion(discriminator(fake), real)    # reaches both; with fake.detach() the discriminator alone

A call that is not followed is assumed to pass gradients from its arguments to its result, as losses do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache

from verifygate.base.records import record, replace
from verifygate.static.amp.autograd_contexts import AutogradContexts, GradMode
from verifygate.static.amp.parameter_sets import Overlap, ParameterSet, ParameterSets
from verifygate.static.symbols.generators import handed_back
from verifygate.static.symbols.mutations import handed_over, is_container, put_into
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children
from verifygate.static.values.domain import Bound, ExternalName, Frame, FunctionValue, Object
from verifygate.static.values.evaluator import Evaluator

_CUTS = frozenset({"detach", "item", "tolist", "numpy", "int", "bool", "long", "argmax", "argmin"})
_CUTTING_BUILTINS = frozenset({"float", "int", "len", "str", "bool", "range", "isinstance"})
_MAX_DEPTH = 24
_MAX_CALLS = 4
"""Calls of the project's functions that are followed into each other."""
_MAX_STEPS = 3_000
"""Expressions looked at for one loss; what is beyond them counts as unknown."""
_Sets = frozenset[ParameterSet]
_COMPREHENSION = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


@record
class GradientFlow:
    """What a backward from a value reaches."""

    must: _Sets = frozenset()
    """Modules whose parameters get gradients, whatever else happens."""
    may: _Sets = frozenset()
    is_complete: bool = True
    """Nothing but these gets any."""
    feeds: frozenset[tuple[ParameterSet, ParameterSet]] = frozenset()
    """The output of the first is an input of the second."""

    def __or__(self, other: GradientFlow) -> GradientFlow:
        """Of a value that is made of two."""
        return GradientFlow(
            self.must | other.must,
            self.may | other.may,
            self.is_complete and other.is_complete,
            self.feeds | other.feeds,
        )

    def reaches(self, parameters: ParameterSet | None) -> bool | None:
        """Whether it reaches some of these parameters; None where the source does not tell."""
        if parameters is None or not parameters.roots:
            return None
        if any(_touches(parameters, each) for each in self.must):
            return True
        if self.is_complete and all(parameters.overlap(each) is Overlap.NONE for each in self.may):
            return False
        return None

    def fed_by(self, parameters: ParameterSet, others: ParameterSet) -> bool:
        """Whether these parameters work on what others have made."""
        return any(_touches(others, before) and _touches(parameters, after) for before, after in self.feeds)


_NOTHING = GradientFlow()
_UNKNOWN = GradientFlow(is_complete=False)


def _touches(parameters: ParameterSet, module: ParameterSet) -> bool:
    """Whether calling a module uses some of these parameters: it is one of them, holds one, or is a part of one."""
    return any(mine.is_below(root) or root.is_below(mine) for mine in parameters.roots for root in module.roots)


def _either(flows: Iterable[GradientFlow]) -> GradientFlow:
    """Of a value that is one of several."""
    found = list(flows)
    if not found:
        return _UNKNOWN
    whole = found[0]
    for each in found[1:]:
        whole = replace(whole | each, must=whole.must & each.must)
    return whole


def _all(flows: Iterable[GradientFlow]) -> GradientFlow:
    whole = _NOTHING
    for each in flows:
        whole |= each
    return whole


class GradientFlows:
    def __init__(self, evaluator: Evaluator, parameters: ParameterSets, autograd: AutogradContexts) -> None:
        self._evaluator = evaluator
        self._autograd = autograd
        self._parameters = parameters
        self._known: dict[tuple[ast.expr, Frame], GradientFlow] = {}
        self._depth = 0
        """How deep the frame is in which the loss stands."""

    def of_loss(self, loss: ast.expr, frame: Frame) -> GradientFlow:
        """What a backward from a loss reaches."""
        self._known.clear()
        self._depth = frame.depth
        return self.of(loss, frame)

    def of(self, expr: ast.expr, frame: Frame, depth: int = 0) -> GradientFlow:
        """What a backward from the value of an expression reaches; nothing more, where that is being asked already."""
        key = (expr, frame)
        if (known := self._known.get(key)) is not None:
            return known
        if depth > _MAX_DEPTH or len(self._known) > _MAX_STEPS:
            return _UNKNOWN
        self._known[key] = _NOTHING
        flow = self._known[key] = self._evaluate(expr, frame, depth)
        return flow

    def _evaluate(self, expr: ast.expr, frame: Frame, depth: int) -> GradientFlow:
        match expr:
            case ast.Constant():
                return _NOTHING
            case ast.Name():
                return self._of_name(expr, frame, depth + 1)
            case ast.Attribute(attr="data" | "shape" | "grad"):
                return _NOTHING
            case ast.Attribute():
                return self._of_attribute(expr, frame, depth + 1)
            case ast.Call():
                return self._of_call(expr, frame, depth + 1)
            case ast.IfExp():
                return _either(self.of(each, frame, depth + 1) for each in (expr.body, expr.orelse))
            case ast.Subscript() | ast.Starred() | ast.Await() | ast.NamedExpr():
                return self.of(expr.value, frame, depth + 1)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._of_comprehension(expr, frame, depth + 1)
            case ast.BinOp() | ast.UnaryOp() | ast.Tuple() | ast.List() | ast.Dict():
                parts = [each for each in children(expr) if isinstance(each, ast.expr)]
                return _all(self.of(each, frame, depth + 1) for each in parts)
            case ast.Compare() | ast.JoinedStr():
                return _NOTHING
        return _UNKNOWN

    def _of_name(self, expr: ast.Name, frame: Frame, depth: int) -> GradientFlow:
        found = self._evaluator.lookup(expr.id, frame)
        if found is None:
            return _NOTHING
        bindings, home = found
        flow = self._of_bindings(expr, bindings, home, frame, depth) | self._put_into(expr.id, bindings, home, depth)
        is_leaf = any(_makes_a_leaf(each.expr) for each in bindings) or expr.id in _set_to_require(home.function)
        return flow | self._of_leaf(expr, frame) if is_leaf else flow

    def _of_leaf(self, expr: ast.expr, frame: Frame) -> GradientFlow:
        """A tensor that is to have gradients, and is no module's: an optimizer may be given it as it is."""
        own = self._parameters.of(expr, frame)
        return GradientFlow(frozenset({own}), frozenset({own})) if own is not None else _UNKNOWN

    def _put_into(self, name: str, bindings: list[Binding], home: Frame, depth: int) -> GradientFlow:
        """What statements put into what a variable holds: it may be there, or not yet, or on another path."""
        values = put_into(home.function).get(name, ())
        flow = replace(_all(self._of_result(each, home, depth) for each in values), must=frozenset())
        is_filled = any(is_container(each.expr) for each in bindings) and any(
            self._may_fill(call, home) for call in handed_over(home.function).get(name, ())
        )
        return flow | _UNKNOWN if is_filled else flow

    def _may_fill(self, call: ast.Call, frame: Frame) -> bool:
        """Whether a call may put something into a container that it is given."""
        if last_name(call.func) in _CUTTING_BUILTINS:
            return False
        return not all(isinstance(value, ExternalName) for value in self._evaluator.values(call.func, frame))

    def _of_bindings(
        self, expr: ast.Name, bindings: list[Binding], home: Frame, frame: Frame, depth: int
    ) -> GradientFlow:
        if len(bindings) > 1 and home is frame:
            here = reaching(expr.id, expr, home.function)
            grown = [each for each in here or () if each.kind == "changed"]
            bindings = bindings if grown else here or bindings
            if grown:  # `loss += more`: all that was added
                return replace(_all(self._given(each, home, depth) for each in bindings), must=frozenset()) | _all(
                    self._given(each, home, depth) for each in grown
                )
        return _either(self._given(each, home, depth) for each in bindings)

    def _given(self, binding: Binding, home: Frame, depth: int) -> GradientFlow:
        """What flows from what one binding gives a name."""
        mode = self._autograd.at(binding.node, home)
        return _NOTHING if mode is GradMode.OFF else _if_on(mode, self._bound(binding, home, depth))

    def _bound(self, binding: Binding, home: Frame, depth: int) -> GradientFlow:
        """The same, with autograd on."""
        match binding.kind:
            case "value" | "item" | "changed" if binding.expr is not None:
                return self.of(binding.expr, home, depth)
            case "parameter":
                given = home.arguments.get(binding.node.arg)  # type: ignore[attr-defined]
                return self.of(given.expr, given.frame, depth) if given is not None else _UNKNOWN
            case "iteration" | "entry" | "index" if binding.expr is not None:
                source = self.of(binding.expr, home, depth)
                return source if source.may else _NOTHING  # a batch of data
        return _UNKNOWN

    def _of_attribute(self, expr: ast.Attribute, frame: Frame, depth: int) -> GradientFlow:
        """Of a field of a result (`outputs.loss`), or of an object that keeps what it computed (`self.fake`)."""
        flows = []
        for value in self._evaluator.values(expr.value, frame):
            if not isinstance(value, Object):
                continue
            for binding, owner, *_ in self._evaluator.hierarchy.bindings(value, expr, frame):
                if owner is not None and not _is_without_value(binding):
                    home = _on(Frame(owner), frame, expr.value)
                    flow = self._given(binding, home, depth)
                    flow = flow | self._of_leaf(expr, frame) if _makes_a_leaf(binding.expr) else flow
                    flows.append(flow | _UNKNOWN if is_container(binding.expr) else flow)
        if flows:
            return replace(_either(flows), must=frozenset()) if len(flows) > 1 else flows[0]
        return self.of(expr.value, frame, depth)

    def _of_comprehension(self, expr: _COMPREHENSION, frame: Frame, depth: int) -> GradientFlow:
        made = expr.value if isinstance(expr, ast.DictComp) else expr.elt
        return self.of(made, frame, depth) | _all(self.of(each.iter, frame, depth) for each in expr.generators)

    def _of_call(self, call: ast.Call, frame: Frame, depth: int) -> GradientFlow:
        name = last_name(call.func)
        if name in (_CUTTING_BUILTINS if isinstance(call.func, ast.Name) else _CUTS):
            return _NOTHING
        values = self._evaluator.values(call.func, frame)
        callees = [value for value in values if isinstance(value, FunctionValue)]
        if callees and len(callees) == len(values) and frame.depth - self._depth < _MAX_CALLS:
            return _either(self._of_callee(value, call, frame, depth) for value in callees)
        given = (*call.args, *(word.value for word in call.keywords))
        inputs = _all(self.of(each, frame, depth) for each in given)
        if callees:
            return inputs | _UNKNOWN
        if name in ("scale", "checkpoint"):
            called = [each for each in given if name == "checkpoint" and each is call.args[0]]
            return inputs | _all(self._of_module(each, inputs, frame) for each in called)
        if all(isinstance(value, ExternalName) for value in values):
            return inputs  # a function of torch
        if isinstance(call.func, ast.Attribute) and not any(isinstance(each, Object) for each in values):
            held = self._evaluator.values(call.func.value, frame)
            if not any(isinstance(each, Object) for each in held):
                flow = self.of(call.func.value, frame, depth)
                if flow.may or not isinstance(call.func.value, ast.Name | ast.Attribute | ast.Subscript):
                    return flow | inputs  # a method of a tensor
        return inputs | self._of_module(call.func, inputs, frame)

    def _of_callee(self, callee: FunctionValue, call: ast.Call, frame: Frame, depth: int) -> GradientFlow:
        """What flows from what a function of the project returns."""
        entered = self._evaluator.enter(callee, call, frame)
        results = handed_back(callee.function)
        if entered is None or not results:
            return _UNKNOWN
        return _either(self._of_result(each, entered, depth) for each in results)

    def _of_result(self, expr: ast.expr, frame: Frame, depth: int) -> GradientFlow:
        mode = self._autograd.at(expr, frame)
        return _NOTHING if mode is GradMode.OFF else _if_on(mode, self.of(expr, frame, depth))

    def _of_module(self, module: ast.expr, inputs: GradientFlow, frame: Frame) -> GradientFlow:
        """What flows from a module's output, beside its inputs."""
        own = self._parameters.of_module(module, frame)
        if own is None:
            return _UNKNOWN
        sets = frozenset({own})
        return GradientFlow(sets, sets, feeds=frozenset((each, own) for each in inputs.must))


def _makes_a_leaf(made: ast.expr | None) -> bool:
    """Whether a call makes a tensor that is to have gradients: `zeros(2, requires_grad=True)`, `Parameter(x)`."""
    if not isinstance(made, ast.Call):
        return False
    asks = any(word.arg == "requires_grad" and not _is_false(word.value) for word in made.keywords)
    return asks or last_name(made.func) in ("requires_grad_", "Parameter")


@lru_cache(maxsize=256)
def _set_to_require(function: Function) -> frozenset[str]:
    """The names of a function whose `requires_grad` it sets, or calls `requires_grad_` of."""
    return frozenset(
        each.value.id
        for each in function.of_kind(ast.Attribute)
        if isinstance(each.value, ast.Name)
        and (each.attr == "requires_grad_" or (each.attr == "requires_grad" and isinstance(each.ctx, ast.Store)))
    )


def _is_false(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value is False


def _on(frame: Frame, caller: Frame, receiver: ast.expr) -> Frame:
    return replace(frame, receiver=Bound(receiver, caller), receiver_class=frame.function.owner)


def _if_on(mode: GradMode, flow: GradientFlow) -> GradientFlow:
    """A flow that there is where autograd is on."""
    return flow if mode is GradMode.ON else replace(flow, must=frozenset())


def _is_without_value(binding: Binding) -> bool:
    return binding.expr is None or isinstance(binding.expr, ast.Constant)

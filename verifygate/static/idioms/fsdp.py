"""FSDP: which models it shards so that each rank holds a part of the gradients, and which code runs with them."""

from __future__ import annotations

import ast
from functools import cached_property

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, ExternalName, ExternalResult, Object, Value

_CLASS = "FullyShardedDataParallel"
_FROM = ("torch.distributed.fsdp.", "fairscale.")
_STRATEGY = 2
"""Where torch's wrapper takes the strategy, given by position."""


@record
class Wrap:
    """A call that shards a model."""

    place: Location
    sure: bool
    """Whether it shards whatever the settings: with the strategy NO_SHARD every rank holds all gradients."""


class Sharding:
    """Asked by one rule; works out nothing for a project that names no FSDP."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._held = analysis.path_conditions

    @cached_property
    def wraps(self) -> list[Wrap]:
        """The calls of FSDP, or of a class derived from it, but those that say NO_SHARD."""
        if not any(module.mentions(_CLASS.encode()) for module in self.analysis.modules):
            return []
        found = []
        for call, function in self.analysis.calls:
            values = self.analysis.evaluator.values(call.func, self.analysis.evaluator.root_frame(function))
            if len(values) == 1 and self.is_wrapper(values[0]):
                sharded = self._is_sharded(call, function)
                if sharded is not False:
                    found.append(Wrap(Location(function, call), sharded is True))
        return found

    def is_wrapper(self, value: Value) -> bool:
        """Whether a value is FSDP or a class derived from it."""
        match value:
            case ExternalName(name=name):
                return name.endswith(f".{_CLASS}") and name.startswith(_FROM)
            case ClassValue(made=made):
                return any(self.is_wrapper(ExternalName(base)) for base in self.analysis.evaluator.outside_bases(made))
        return False

    def _is_sharded(self, call: ast.Call, function: Function) -> bool | None:
        given = [word.value for word in call.keywords if word.arg == "sharding_strategy"] or call.args[_STRATEGY:][:1]
        if not given:
            return None if any(word.arg is None for word in call.keywords) else True
        names = {
            value.name.rpartition(".")[2] if isinstance(value, ExternalName) else ""
            for value in self.analysis.evaluator.values(given[0], self.analysis.evaluator.root_frame(function))
        }
        if "" in names or len(names) > 1:
            return None
        return names != {"NO_SHARD"}

    def wraps_of(self, model: ast.expr, function: Function) -> tuple[list[Wrap], bool]:
        """The calls that may have sharded the model of an expression, and whether it is nothing else than sharded."""
        values = self.analysis.evaluator.values(model, self.analysis.evaluator.root_frame(function))
        made = {id(call) for value in values if isinstance(value, ExternalResult) for call, _ in value.calls}
        made |= {id(value.call.expr) for value in values if isinstance(value, Object) and value.call}
        found = [wrap for wrap in self.wraps if id(wrap.place.node) in made]
        if found:
            return found, len(values) == 1
        kept = (self._is_assigned, self._is_handed_on, self._is_constructed_with)
        return [wrap for wrap in self.wraps if any(is_it(wrap.place, model, function) for is_it in kept)], False

    def _is_assigned(self, wrap: Location, model: ast.expr, function: Function) -> bool:
        """Whether a wrapped model is put into a part of what is not followed: `self.policy.head = FSDP(...)`."""
        outer = self.analysis.enclosing.parent(wrap.node, wrap.function)
        if not isinstance(model, ast.Attribute) or not isinstance(outer, ast.Assign):
            return False
        if ast.unparse(model) not in map(ast.unparse, outer.targets):
            return False
        owner = wrap.function.owner
        if owner is None or function.owner not in (linearised := self.analysis.evaluator.linearised(owner)):
            return function is wrap.function or self.analysis.evaluator.may_be_of_one_object(function, wrap.function)
        inherited = (made.methods.get(function.name) for made in linearised)
        return next((method for method in inherited if method is not None), None) is function

    def _is_constructed_with(self, wrap: Location, model: ast.expr, function: Function) -> bool:
        """Whether an attribute keeps a parameter for which a constructor call gives the wrapped model."""
        bindings = self.analysis.dtype_values.bindings(model, self.analysis.evaluator.root_frame(function))
        for binding, home in bindings if isinstance(model, ast.Attribute) else ():
            if not isinstance(binding.expr, ast.Name):
                continue
            for _, bound in self.analysis.call_graph.given(binding.expr.id, home.function):
                values = self.analysis.evaluator.values(bound.expr, bound.frame)
                made = (call for value in values if isinstance(value, ExternalResult) for call, _ in value.calls)
                if any(call is wrap.node for call in made):
                    return True
        return False

    def _is_handed_on(self, wrap: Location, model: ast.expr, function: Function) -> bool:
        """Whether the class puts a wrapped model into a field, `Models(head=head)`, and later gets `models.head`."""
        if not isinstance(model, ast.Attribute) or not isinstance(model.value, ast.Name):
            return False
        outer = self.analysis.enclosing.parent(wrap.node, wrap.function)
        targets = outer.targets if isinstance(outer, ast.Assign) else []
        if not any(isinstance(target, ast.Name) and target.id == model.attr for target in targets):
            return False
        given = (word for call in wrap.function.calls for word in call.keywords if word.arg == model.attr)
        return (
            model.value.id in {each.arg for each in function.parameters[1:]}
            and any(isinstance(word.value, ast.Name) and word.value.id == model.attr for word in given)
            and self.analysis.evaluator.may_be_of_one_object(function, wrap.function)
        )

    def together(self, wrap: Location, place: Location, unless_told: bool) -> bool:
        """Whether one run may come to both: no condition of one denies the other, and something leads to both.

        `unless_told` is the answer where no function that leads to both is known.
        """
        if not self._held.agree(wrap, place):
            return False
        common = self.analysis.call_graph.common(wrap.function, place.function)
        return any(self._joins(function, wrap, place) for function in common) if common else unless_told

    def _joins(self, function: Function, wrap: Location, place: Location) -> bool:
        """Whether one run of the function may come to both, by ways that part in it."""
        ways = self._ways(function, wrap), self._ways(function, place)
        if ways[0] is None or ways[1] is None:
            return True
        return any(one.node is not other.node and self._held.agree(one, other) for one in ways[0] for other in ways[1])

    def _ways(self, function: Function, place: Location) -> list[Location] | None:
        """Where the function leads to a place: the place itself, or calls. None where it is only around what does."""
        if place.function is function:
            return [place]
        above = self.analysis.call_graph.above(place.function)
        callees = {call: self.analysis.call_graph.callees(call, function) for call in function.calls}
        ways = [call for call, called in callees.items() if not above.isdisjoint(called)]
        return [Location(function, call) for call in ways if self._lets(place, call, function)] if ways else None

    def _lets(self, place: Location, call: ast.Call, caller: Function) -> bool:
        """Whether what the call gives to the function of the place may be what the conditions there ask for."""
        evaluator = self.analysis.evaluator
        for value in evaluator.callees(call, evaluator.root_frame(caller)):
            frame = evaluator.enter(value, call, evaluator.root_frame(caller))
            if value.function is place.function and frame is not None:
                return all(
                    evaluator.truth(test, frame) is not (not holds) for test, holds in self._held.conditions(place)
                )
        return True

    def is_spared(self, place: Location, model: ast.expr) -> bool:
        """Whether the place is for models that are not sharded, or the function also knows the model's own clip."""
        frame = self.analysis.evaluator.root_frame(place.function)
        for leaf, holds in self._held.leaves(place):
            match leaf:
                case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]) if not holds:
                    asked = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                    values = [value for kind in asked for value in self.analysis.evaluator.values(kind, frame)]
                    if any(map(self.is_wrapper, values)):
                        return True
        name = ast.unparse(model)
        return any(_names_own_clip(call, name) for call in place.function.calls)


def holds_one(expr: ast.expr, calls: list[ast.Call]) -> bool:
    """Whether one of some calls stands in an expression."""
    return bool(calls) and any(node in calls for node in walk(expr))


def _names_own_clip(call: ast.Call, model: str) -> bool:
    """Whether a call is `model.clip_grad_norm_(...)` or `FSDP.clip_grad_norm_(model, ...)`, or asks for that method."""
    first = ast.unparse(call.args[0]) if call.args else ""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr="clip_grad_norm_")):
            return model in (ast.unparse(owner), first)
        case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value="clip_grad_norm_"), *_]):
            return first == model
    return False

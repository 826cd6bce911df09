"""Which autocast regions a scaler serves: those whose losses it scales, by what calls what and by whose objects.

A scaler is built in a function, or in the constructor of a class; then each call that makes an object of that class
from outside is one use of it. It serves the active regions of the functions that the same callers run, or that belong
to the same object, where a loss is scaled.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from verifygate.base.records import field, record
from verifygate.naming import names_an_evaluation, speaks_of_a_scaler
from verifygate.static.amp.autocast_regions import WrittenRegion, WrittenRegions
from verifygate.static.amp.autograd_contexts import Decorated, decorated
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.facts.condition_texts import ConditionTexts
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.names import last_name
from verifygate.static.values.call_graph import CallGraph, Site

"""Names of methods whose results nobody differentiates."""
_RUNS_BACKWARD = r"(?i)backward|optimi[sz]e|step|update|(?:^|_)opt(?:im)?$"


@record(eq=False)
class Use:
    """One place where a scaler is allocated, with the training regions that it serves."""

    scaler: ScalerAllocation
    call: ast.Call
    function: Function
    """The call that builds the scaler, or the object of the project that holds it."""
    regions: tuple[WrittenRegion, ...]


@record
class _Index:
    """Numbers of regions, by what they have to do with."""

    below: dict[Function, set[int]] = field(default_factory=dict)
    """Function -> those in it, and in what it leads to by calls."""
    of_class: dict[Class, set[int]] = field(default_factory=dict)
    """Class -> those in its methods."""
    of_heirs: dict[Class, set[int]] = field(default_factory=dict)
    """Class -> those in methods of it and of classes that derive from it."""
    in_module: dict[Module, set[int]] = field(default_factory=dict)


class ScalerRegions:
    """Answers for the scalers and regions of one set of modules."""

    def __init__(
        self, regions: WrittenRegions, texts: ConditionTexts, callers: CallGraph, import_graph: ImportGraph
    ) -> None:
        self.roles = regions.roles
        self.evaluator = regions.roles.evaluator
        self.regions = regions
        self.texts = texts
        self.callers = callers
        self.import_graph = import_graph
        self._scaling: dict[Function, bool] = {}
        self._serving: dict[Function, tuple[WrittenRegion, ...]] = {}
        self._parts: dict[Function, bool] = {}

    def uses(self, scaler: ScalerAllocation) -> list[Use]:
        """The places where a scaler is allocated, each with the active regions whose losses it scales."""
        homes = [(scaler.call, scaler.function)]
        if scaler.function.owner is not None and scaler.function.name == "__init__" and not self._serves_own(scaler):
            homes = [(site.call, site.caller) for site in self._made_in(scaler.function)] or homes
        for _, function in homes:
            if function not in self._serving:
                self._serving[function] = tuple(self._served(function))
        return [Use(scaler, call, function, self._serving[function]) for call, function in homes]

    def conditions(self, use: Use) -> list[tuple[str, bool]]:
        """The path conditions of a use: of building the scaler, and of its being on.

        Each is a text with definitions, and whether it holds or fails there.
        """
        found = []
        if use.scaler.enabled is not None:
            enabled = use.scaler.enabled
            found.append((self.texts.with_definitions(_plain(enabled.expr), enabled.frame, through=use.call), True))
        places = {(use.call, use.function), (use.scaler.call, use.scaler.function)}
        for call, function in sorted(places, key=lambda each: (each[1].module.path, each[0].lineno)):
            frame = self.evaluator.root_frame(function)
            for test, holds in self.texts.nesting.conditions(call, function):
                found.append((self.texts.with_definitions(test, frame), holds))
        return found

    def _serves_own(self, scaler: ScalerAllocation) -> bool:
        """Whether the class that builds the scaler enters autocast itself, so that it is no mere wrapper."""
        return any(self.evaluator.may_be_of_one_object(region.function, scaler.function) for region in self.regions.all)

    def _made_in(self, constructor: Function) -> Iterator[Site]:
        """The constructor calls from outside, of the class itself or of a subclass."""
        for site in self.callers.sites(constructor):
            if not self.evaluator.may_be_of_one_object(site.caller, constructor):
                yield site
            elif site.caller is not constructor and site.caller.name == "__init__":
                yield from self._made_in(site.caller)

    def _served(self, function: Function) -> Iterator[WrittenRegion]:
        """The active regions with a scaled loss that belong to the object of a function, or share a caller with it."""
        files = self.import_graph.together(function.module.path)
        keeps_it = bool(function.symbol) and self._scales_itself(function)  # another loop has a scaler of its own
        index = self._index
        found: set[int] = set()
        for caller in (function,) if keeps_it else self.callers.above(function):
            found |= index.below.get(caller, set())
        if function.owner is not None:
            found |= index.of_heirs.get(function.owner, set())
            for made in self.evaluator.linearised(function.owner):
                found |= index.of_class.get(made, set())
        if not function.symbol:
            found |= index.in_module.get(function.module, set())
        regions = (self.regions.all[each] for each in sorted(found))
        yield from (each for each in regions if each.function.module.path in files)

    @cached_property
    def _index(self) -> _Index:
        """The active regions with a scaled loss, by what may lead from a scaler to them."""
        index = _Index()
        for number, region in enumerate(self.regions.all):
            home = region.function
            if not region.is_active or not (self.scales(home) or self._computes_for_another(home)):
                continue
            index.in_module.setdefault(home.module, set()).add(number)
            for caller in self.callers.above(home):
                index.below.setdefault(caller, set()).add(number)
            if home.owner is not None:
                index.of_class.setdefault(home.owner, set()).add(number)
                for made in self.evaluator.linearised(home.owner):
                    index.of_heirs.setdefault(made, set()).add(number)
        return index

    def in_models_of(self, use: Use) -> list[WrittenRegion]:
        """The regions that models enter in their own forward, where the scaler of a loop serves no other."""
        found = []
        for region in () if use.regions else self.regions.all:
            if region.is_active and region.function.name == "forward" and self._is_module(region.function):
                callers = self.callers.above(region.function)
                if any(self.scales(each) and self.callers.common(use.function, each) for each in callers):
                    found.append(region)
        return found

    def _is_module(self, method: Function) -> bool:
        bases = self.evaluator.outside_bases(method.owner) if method.owner else ()
        return any(base.startswith("torch.nn.") for base in bases)

    def scales(self, function: Function) -> bool:
        """Whether a function scales a loss: through a scaler, or a wrapper that is called like one.

        Functions inside it that have no loop of their own are parts of it: one computes the loss, another scales it.
        """
        while function.enclosing is not None and function.enclosing.symbol and not _loops(function):
            function = function.enclosing
        if function not in self._parts:
            inner = function.module.beside(function) if function.symbol else []
            parts = [each for each in inner if each.enclosing is function and not _loops(each)]
            self._parts[function] = any(self._scales_itself(each) for each in (function, *parts))
        return self._parts[function]

    def _computes_for_another(self, function: Function) -> bool:
        """Whether a method computes a loss that another method of its class scales, which enters no region itself."""
        if function.owner is None or names_an_evaluation(function.name):
            return False
        if decorated(function, self.evaluator) is Decorated.OFF:
            return False
        methods = [each for made in self.evaluator.linearised(function.owner) for each in made.methods.values()]
        scaling = [each for each in methods if each is not function and self._scales_itself(each)]
        return bool(scaling) and not any(self.regions.by_function.get(each) for each in scaling)

    def _scales_itself(self, function: Function) -> bool:
        """Whether it scales a loss, or passes one to a method that does: `fabric.backward(loss)`."""
        if function not in self._scaling:
            self._scaling[function] = self._holds_scale(function) or any(
                self._holds_scale(callee)
                for node in function.calls
                if (node.args or node.keywords) and re.search(_RUNS_BACKWARD, last_name(node.func))
                for callee in self.callers.callees(node, function)
            )
        return self._scaling[function]

    def _holds_scale(self, function: Function) -> bool:
        frame = self.evaluator.root_frame(function)
        for node in function.calls:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "scale":
                if self.roles.scaler(node.func.value, frame) is not None:
                    return True
            elif speaks_of_a_scaler(last_name(node.func)) and node.args and last_name(node.func).islower():
                return True
        return False


def _plain(expr: ast.expr) -> ast.expr:
    """The condition of `True if condition else False`."""
    match expr:
        case ast.IfExp(test=test, body=ast.Constant(value=True), orelse=ast.Constant(value=False)):
            return test
    return expr


def _loops(function: Function) -> bool:
    return bool(function.loops)

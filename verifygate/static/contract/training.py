"""Whether training reaches a place: a backward, or a framework that runs one. What only evaluates is no part of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from functools import cached_property

from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.autograd_contexts import GradMode
from verifygate.static.analysis import Analysis
from verifygate.static.facts.autograd_mode import CallerMode, mode_at
from verifygate.static.idioms.frozen_models import needs_no_gradients
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_script, walk
from verifygate.static.values.call_graph import Site
from verifygate.static.values.domain import ExternalResult, Object

TRAINS = re.compile(rb"\.backward\(|manual_backward\(|\.fit\(|def training_step|Trainer\(|\.train\(resume")
"""What a file has that trains, itself or by a framework."""
_BACKWARDS = frozenset({"backward", "manual_backward"})
_HOOKS = frozenset({"training_step", "compute_loss"})
_EVALUATION_HOOKS = frozenset({"validation_step", "test_step", "predict_step"})
_FITS = frozenset({"fit", "train"})
_EVALUATES = frozenset({"predict", "test", "validate", "evaluate", "eval"})
_MAX_CALLERS = 4


class TrainingReach:
    """Answers for the places of one set of modules."""

    def __init__(
        self, analysis: Analysis, training: Set[str], evaluating: Set[str] = frozenset(), only: Set[str] = frozenset()
    ) -> None:
        self._analysis = analysis
        self._training = training
        """Paths of the files that train."""
        self._evaluating = evaluating
        """Paths of the files that run a model for what it gives."""
        self._evaluating_only = only
        """The same, where nothing speaks of a training."""

    # -- programs and functions --------------------------------------------------------------------------------

    def is_of_program(self, function: Function) -> bool:
        """Whether a program that trains runs a function; so it is where no program of the tree trains."""
        if not self._training:
            return True
        callers = self._analysis.call_graph.above(function) - {function}
        first = [each for each in callers if not self._analysis.call_graph.sites(each) and not each.module.file.is_test]
        return any(self._trains(each) for each in first or [function])

    def only_evaluates(self, path: str) -> bool:
        """Whether a file is a program that runs a model, and none of what it calls trains one."""
        return self._is_alone(path) and not self._analysis.import_graph.is_imported(path)

    def _is_alone(self, path: str) -> bool:
        return path in self._evaluating_only and all(each.module.path != path for each in self._above_steps)

    def evaluates(self, function: Function) -> bool:
        """Whether one of those that run a function, or itself, runs a model for what it gives, or beside a training."""
        homes = {each.module.path for each in self._analysis.call_graph.above(function)} | {function.module.path}
        return not homes.isdisjoint(self._evaluating | self._training)

    def is_self_test(self, place: Location) -> bool:
        """Whether a line runs only where a module that a training imports is itself run as a script."""
        path, graph = place.path, self._analysis.import_graph
        if not place.function.module.mentions(b"__main__") or not graph.is_imported(path):
            return False
        around = self._analysis.enclosing.around(place.node, place.function)
        if not any(isinstance(each.node, ast.If) and is_script(each.node.test) for each in around):
            return False
        own = graph.closure(path)
        return any(files != own and not self._training.isdisjoint(files - {path}) for files in graph.programs(path))

    def _trains(self, function: Function) -> bool:
        """Whether a function that nothing here calls may be started by a program that trains."""
        path = function.module.path
        is_started = function.module.file.is_script and function.owner is None  # by its own file, as a script
        if self.only_evaluates(path) or (is_started and self._is_alone(path)):
            return False
        return not self._training.isdisjoint(self._analysis.import_graph.together(path))

    @cached_property
    def _above_steps(self) -> frozenset[Function]:
        """The functions that run a backward or a fit; a hook by its name, such as a model's `compute_loss`, is none."""
        graph = self._analysis.call_graph
        return frozenset[Function]().union(*(graph.above(each) for each in self._analysis.functions if _steps(each)))

    @cached_property
    def _above_training(self) -> frozenset[Function]:
        """The functions that run a backward, themselves or by what they call."""
        graph = self._analysis.call_graph
        return frozenset[Function]().union(*(graph.above(each) for each in self._analysis.functions if _trains(each)))

    # -- regions -----------------------------------------------------------------------------------------------

    def has_region(self, region: WrittenRegion) -> bool:
        """Whether what a region computes may be trained: nothing of it known to go without gradients, or elsewhere."""
        function = region.function
        if self._has_no_gradients(region):
            return False
        return self.is_of_program(function) and (_gives_away(region) or self._reaches_a_backward(function))

    def is_without_training(self, region: WrittenRegion) -> bool:
        """Whether nothing in a region is trained for sure: not only for want of a backward that was followed to it."""
        function = region.function
        return function.name in _EVALUATION_HOOKS or self._has_no_gradients(region) or not self.is_of_program(function)

    def _has_no_gradients(self, region: WrittenRegion) -> bool:
        analysis, inside = self._analysis, set(region.calls)
        first = next((each for each in analysis.hot_loops.spots(region.function) if each.node in inside), None)
        if first is not None and mode_at(first, analysis.evaluator) is GradMode.OFF:
            return True
        return analysis.autograd_mode.of_callers(region.function) is CallerMode.OFF or self._is_frozen(region)

    def _is_frozen(self, region: WrittenRegion) -> bool:
        """Whether all models that run in a region are frozen."""
        models = [
            call.func
            for call in region.calls
            if isinstance(call.func, ast.Name | ast.Attribute)
            and self._analysis.hot_loops.is_model(call.func, region.function)
        ]
        return bool(models) and all(
            needs_no_gradients(each, region.function, self._analysis, by_every_caller=True) for each in models
        )

    def _reaches_a_backward(self, function: Function, calls: int = 0) -> bool:
        """Whether a function runs a backward, or gives what it computes to one that does; so too if that is unknown."""
        sites = [each for each in self._analysis.call_graph.sites(function) if not each.caller.module.file.is_test]
        if function in self._above_training or calls > _MAX_CALLERS:
            return True
        if not sites:
            return function.name not in _EVALUATION_HOOKS
        return any(self._is_used(site, calls) for site in sites)

    def _is_used(self, site: Site, calls: int) -> bool:
        """Whether what a call gives may come to a backward: not what is dropped, logged, or only printed."""
        caller = site.caller
        kept = _closed(set(), site.call, caller)
        if kept is None:
            return True
        if self._comes_to_a_backward(kept, site.call, caller):
            return True
        returned = any(_mentions(each, kept) or site.call in walk(each) for each in caller.returns)
        return returned and caller not in self._above_training and self._reaches_a_backward(caller, calls + 1)

    def _comes_to_a_backward(self, names: frozenset[str], made: ast.Call, function: Function) -> bool:
        """Whether a backward, or a call that runs one, is given something with these names in it."""
        for call in function.calls:
            runs = last_name(call.func) in _BACKWARDS or any(
                each in self._above_training for each in self._analysis.call_graph.callees(call, function)
            )
            given = [*call.args, *(word.value for word in call.keywords), call.func]
            if runs and call is not made and any(_mentions(each, names) or made in walk(each) for each in given):
                return True
        return False

    # -- frameworks --------------------------------------------------------------------------------------------

    def is_of_framework(self, call: ast.Call, function: Function) -> bool:
        """Whether what a call makes may train: not a Trainer of which the file asks for predictions only."""
        asked = {
            each.func.attr
            for home in function.module.all_functions
            for each in home.calls
            if isinstance(each.func, ast.Attribute) and each.func.attr in _FITS | _EVALUATES
            if self._is_made_by(each.func.value, home, call)
        }
        return self.is_of_program(function) and (not asked or bool(asked & _FITS))

    def _is_made_by(self, receiver: ast.expr, function: Function, call: ast.Call) -> bool:
        for value in self._analysis.evaluator.values(receiver, self._analysis.evaluator.root_frame(function)):
            if isinstance(value, ExternalResult) and any(made is call for made, _ in value.calls):
                return True
            if isinstance(value, Object) and value.call is not None and value.call.expr is call:
                return True
        return False

    def is_of_engine(self, call: ast.Call, function: Function) -> bool:
        """Whether an engine may train: not one beside another one in its function, of which alone a backward is run."""
        engine = _engine(call, function)
        others = {
            each for made in function.calls
            if made is not call and last_name(made.func) == last_name(call.func)
            if (each := _engine(made, function))
        }  # fmt: skip
        run = {
            _root(each.func)
            for each in function.calls
            if isinstance(each.func, ast.Attribute) and each.func.attr in ("backward", "step")
        }
        return not engine or engine in run or not others & run


def _trains(function: Function) -> bool:
    return function.name in _HOOKS or _steps(function)


def _steps(function: Function) -> bool:
    if not function.module.mentions(b"backward(", b".fit(", b"Trainer"):
        return False
    return any(
        last_name(call.func) in _BACKWARDS or (isinstance(call.func, ast.Attribute) and call.func.attr in _FITS)
        for call in function.calls
        if not (last_name(call.func) == "train" and (call.args or not function.module.mentions(b"Trainer")))
    )


def _gives_away(region: WrittenRegion) -> bool:
    """Whether what a region computes may leave its function otherwise than by a return: in objects, or bit by bit."""
    function, inside = region.function, set(region.nodes)
    parameters = {each.arg for each in function.parameters}
    plain = [node.value for node in function.of_kind(ast.Expr) if node in inside]
    if function.is_generator or any(isinstance(each, ast.Call) and _given(each) is None for each in plain):
        return True
    given = [found[0] for node in region.nodes if (found := _given(node)) is not None]
    targets = [target for group in given for target in group]
    names = {each.id for target in targets for each in walk(target) if isinstance(each, ast.Name)}
    kept = _closed(names, None, function)
    return kept is None or bool(kept & parameters) or any(isinstance(each, ast.Attribute) for each in targets)


def _root(expr: ast.expr) -> str:
    """The variable that a chain of attributes, items and calls begins with."""
    while isinstance(expr, ast.Attribute | ast.Subscript | ast.Call):
        expr = expr.func if isinstance(expr, ast.Call) else expr.value
    return expr.id if isinstance(expr, ast.Name) else ""


def _closed(names: set[str], call: ast.Call | None, function: Function) -> frozenset[str] | None:
    """Some names, and those that their values, or what a call gives, go by too; None where an object keeps one."""
    grown = True
    while grown:
        before = len(names)
        for node in function.own_nodes:
            given = _given(node)
            if given is None or not (_mentions(given[1], names) or any(each is call for each in walk(given[1]))):
                continue
            for target in given[0]:
                if isinstance(target, ast.Attribute):
                    return None
                names |= {each.id for each in walk(target) if isinstance(each, ast.Name)}
        grown = len(names) > before
    return frozenset(names)


def _given(node: ast.AST) -> tuple[list[ast.expr], ast.expr] | None:
    """What a node gives to which targets: an assignment, a loop, `some.append(x)`."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return targets, value
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            return [target], value
        case ast.NamedExpr(target=target, value=value):
            return [target], value
        case ast.For(target=target, iter=value):
            return [target], value
        case ast.Call(func=ast.Attribute(value=target, attr="append" | "extend" | "add" | "update"), args=[value]):
            return [target], value
    return None


def _mentions(expr: ast.AST, names: Set[str]) -> bool:
    return bool(names) and any(isinstance(each, ast.Name) and each.id in names for each in walk(expr))


def _engine(call: ast.Call, function: Function) -> str:
    """The variable that an engine is bound to: `engine, *_ = deepspeed.initialize(...)`."""
    targets: Iterator[ast.expr] = (
        target for node in function.of_kind(ast.Assign) if node.value is call for target in node.targets
    )
    for target in targets:
        first = target.elts[0] if isinstance(target, ast.Tuple | ast.List) and target.elts else target
        if isinstance(first, ast.Name):
            return first.id
    return ""

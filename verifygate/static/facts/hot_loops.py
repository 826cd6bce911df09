"""Hot loops: loops whose iterations train or evaluate, and what runs in each iteration.

A loop over epochs is not hot: what stands in it, but not in the loop over batches, runs once per epoch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from verifygate.base.depth_first import depth_first
from verifygate.base.records import field, record
from verifygate.naming import names_a_counter, names_a_loss_module, names_a_model, speaks_of_a_scaler
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import gradients_there
from verifygate.static.facts.loop_sources import LoopSources
from verifygate.static.facts.loop_variance import adds_to_what_is_there, asked, is_of_the_finite, says_the_same
from verifygate.static.symbols.program import Function, Module
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.symbols.sites import Loop, ProgramPoint, Test, program_points
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, FunctionValue, Object
from verifygate.static.values.evaluator import Evaluator

_SWITCHED_OFF = re.compile(
    r"debug|verbose|profil|dry_?run|sanity|(?:^|_)log(?:_|$|ging)|(?:^|_)should_|print|wandb|tensorboard"
)
_STEADY_CALLS = frozenset(
    """isinstance hasattr is_tensor getattr bool len is_available is_initialized is_main_process get_rank get_world_size
    is_bf16_supported device str int is_enabled""".split()  # noqa: SIM905
)
_STEADY = frozenset({"parameter", "iteration", "entry"})
"""What is no variable of the iteration: each iteration goes through all that a loop inside it does."""
_NO_TRAINERS = ("torch.", "builtins.", "abc.", "enum.", "typing.", "collections.", "unittest.", "threading.")
_DEPTH = 3


@record(eq=False, frozen=False, slots=False)
class HotLoop:
    """A loop that trains or evaluates once per iteration."""

    function: Function
    node: Loop
    trains: bool
    over_loader: bool
    iteration_points: list[ProgramPoint] = field(default_factory=list)
    """What runs in every iteration, in the loop and in the project's functions that it calls."""

    @property
    def own_turns(self) -> list[ProgramPoint]:
        """What runs in every iteration and stands in the loop itself."""
        return [spot for spot in self.iteration_points if self.node in spot.loops]


class HotLoops:
    """Finds the hot loops of the modules that train."""

    def __init__(self, roles: Roles, modules: list[Module]) -> None:
        self.roles = roles
        self.evaluator: Evaluator = roles.evaluator
        self.drawn = LoopSources(self.evaluator, self.spots)
        self.modules = [module for module in modules if _may_train(module)]
        self._others = [module for module in modules if b"import" in module.file.data and not _may_train(module)]
        self._spots: dict[Function, list[ProgramPoint]] = {}
        self._steps: dict[Function, bool] = {}
        self._decides_a_step: dict[Test, bool] = {}
        self._on_steps: dict[Function, list[Test]] = {}
        self._names = {function.name for module in modules for function in module.functions.values()}
        self._names |= {"__call__"}

    @cached_property
    def loops(self) -> list[HotLoop]:
        """Every hot loop, in order of place; last those of classes that only the classes below fill with steps."""
        functions = [function for module in self.modules for function in module.all_functions]
        found = [loop for function in (*functions, *self._inherited()) for loop in self._of(function)]
        return found + [loop for function in self._of_callers() for loop in self._of(function) if loop.trains]

    def _of_callers(self) -> list[Function]:
        """The functions of other files that import one of which a function takes one step, or load batches for it."""
        if not self._others:
            return []
        stepping = {
            module.path.rpartition("/")[2].removesuffix(".py").encode()
            for module in self.modules
            if any(self.takes_one_step(function) for function in module.functions.values())
        }
        if not stepping:
            return []
        named = b"|".join(map(re.escape, stepping))
        imported = re.compile(rb"^[ \t]*(?:import|from)[^\n]*\b(?:" + named + rb")\b", re.MULTILINE)
        callers = [
            module
            for module in self._others
            if imported.search(module.file.data)
            or (b"oader" in module.file.data and any(name in module.file.data for name in stepping))
        ]
        return [function for module in callers for function in module.all_functions]

    def _inherited(self) -> list[Function]:
        """The methods of other files that classes whose methods take a step derive from: their loops run them."""
        found: dict[Function, None] = {}
        for module in self.modules:
            for made in module.classes.values():
                bases = [base for base in self.evaluator.linearised(made)[1:] if base.module not in self.modules]
                if bases and any(self.takes_one_step(method) for method in made.methods.values()):
                    found.update((method, None) for base in bases for method in base.methods.values())
        return list(found)

    @cached_property
    def training(self) -> list[HotLoop]:
        return [loop for loop in self.loops if loop.trains]

    @cached_property
    def run_by_libraries(self) -> list[list[ProgramPoint]]:
        """What methods do in every step that a library's loop runs: those that take one, and nothing here calls.

        Their class derives from one of the library's, and not from a part of torch.
        """
        methods = [method for module in self.modules for method in module.functions.values() if method.owner]
        return [
            list(self._each_time(method, {method}, _DEPTH))
            for method in methods
            if self.takes_one_step(method) and not self.sites(method) and self._is_of_a_library(method)
        ]

    def _is_of_a_library(self, method: Function) -> bool:
        bases = self.evaluator.outside_bases(method.owner) if method.owner else ()
        return any("." in base and not base.startswith(_NO_TRAINERS) for base in bases)

    def once_per_place(self, spots: Iterable[ProgramPoint]) -> list[ProgramPoint]:
        """The spots without those that another loop around them brought already."""
        seen: dict[tuple[str, int, int], ProgramPoint] = {}
        for spot in spots:
            place = spot.place
            seen.setdefault((place.path, place.line, place.column), spot)
        return [spot for _, spot in sorted(seen.items(), key=lambda item: item[0])]

    def spots(self, function: Function) -> list[ProgramPoint]:
        if function not in self._spots:
            self._spots[function] = program_points(function)
        return self._spots[function]

    def sites(self, function: Function) -> list[ProgramPoint]:
        """The calls of a function in the modules that train."""
        return [spot for spot in self._by_name.get(function.name, ()) if function in self.callees(spot)]

    @cached_property
    def _by_name(self) -> dict[str, list[ProgramPoint]]:
        """Last name of the callee -> the calls of it."""
        found: dict[str, list[ProgramPoint]] = {}
        for module in self.modules:
            for function in module.all_functions:
                for spot in self.spots(function):
                    if isinstance(spot.node, ast.Call):
                        found.setdefault(last_name(spot.node.func), []).append(spot)
        return found

    def evaluating(self, function: Function, node: Loop) -> HotLoop:
        """A loop that evaluates, whatever it goes over."""
        loop = HotLoop(function, node, trains=False, over_loader=False)
        loop.iteration_points = list(self._turns(loop))
        return loop

    def is_chosen_in(self, loop: HotLoop, spot: ProgramPoint) -> bool:
        """Whether a condition on what an iteration binds decides if a spot runs: at the end of a window, say."""
        bound = _bound_in(loop.node)
        asked = (test.expr for test in spot.tests if loop.node in test.loops)
        return any(isinstance(node, ast.Name) and node.id in bound for expr in asked for node in walk(expr))

    # -- which loops are hot -----------------------------------------------------------------------------------

    def _of(self, function: Function) -> Iterator[HotLoop]:
        found: dict[Loop, HotLoop] = {}
        for spot in self.spots(function):
            if not (isinstance(spot.node, ast.Call) and spot.loops):
                continue
            loop = spot.loops[-1]
            trains = self._is_step(spot) or self._calls_a_step(spot)
            over = self.drawn.from_a_loader(loop, function)
            if not trains and not (over and self.is_model(spot.node.func, function)):
                continue
            hot = found.setdefault(loop, HotLoop(function, loop, trains, over))
            hot.trains = hot.trains or trains
        for hot in found.values():
            if not any(inner in found for inner in walk(hot.node) if inner is not hot.node) or hot.trains:
                hot.iteration_points = list(self._turns(hot))
                yield hot

    def _is_step(self, spot: ProgramPoint) -> bool:
        """A backward, the step of an optimizer or a scaler, or a call of a scaler that does all of it."""
        call = spot.node
        if not isinstance(call, ast.Call):
            return False
        frame = self.evaluator.root_frame(spot.function)
        if speaks_of_a_scaler(last_name(call.func)) and len(call.args) > 1:
            return any(self.roles.is_optimizer(argument, frame) for argument in call.args[1:])
        if not isinstance(call.func, ast.Attribute):
            return False
        if call.func.attr == "backward":
            return True
        if call.func.attr != "step":
            return False
        receiver = call.func.value
        return self.roles.is_optimizer(receiver, frame) or self.roles.scaler(receiver, frame) is not None

    def _calls_a_step(self, spot: ProgramPoint) -> bool:
        return any(self.takes_one_step(callee) for callee in self.callees(spot))

    def takes_one_step(self, function: Function) -> bool:
        """Whether a call of the function is one step of training: it, or what it calls, steps outside of loops."""
        if function not in self._steps:
            depth_first(function, self._steps, self._looking_for_a_step)
        return self._steps[function]

    def _looking_for_a_step(self, function: Function) -> Iterator[Function]:
        """Find out whether a function is one step; yields the functions that it calls, which have to be known first."""
        self._steps[function] = False
        for spot in self.spots(function):
            if not isinstance(spot.node, ast.Call) or spot.loops:
                continue
            steps = self._is_step(spot)
            for callee in () if steps else self.callees(spot):
                yield callee
                steps = steps or self._steps[callee]
                if steps:
                    break
            if steps:
                self._steps[function] = True
                return

    def callees(self, spot: ProgramPoint) -> list[Function]:
        """The project's functions that a call runs, but for constructors and what a model computes forward."""
        call = spot.node
        if not isinstance(call, ast.Call):
            return []
        frame = self.evaluator.root_frame(spot.function)
        if last_name(call.func) not in self._names:
            values = self.evaluator.values(call.func, frame)
            if not any(isinstance(value, Object | FunctionValue) for value in values):
                return []
        found = [callee.function for callee in self.evaluator.callees(call, frame)]
        found += [method for function in found for method in self._overriding.get(function, ()) if method not in found]
        return [function for function in found if function.name != "__init__" and not _is_of_a_model(function)]

    @cached_property
    def _overriding(self) -> dict[Function, list[Function]]:
        """Method -> those that stand for it in classes that derive from its own: a loop of the base runs them."""
        found: dict[Function, list[Function]] = {}
        for module in self.modules:
            for made in module.classes.values():
                for base in self.evaluator.linearised(made)[1:] if made.node.bases else ():
                    for name in made.methods.keys() & base.methods.keys():
                        found.setdefault(base.methods[name], []).append(made.methods[name])
        return found

    def is_model(self, func: ast.expr, function: Function) -> bool:
        """Whether calling `func` runs a model forward."""
        for value in self.evaluator.values(func, self.evaluator.root_frame(function)):
            match value:
                case Object():
                    bases = self.evaluator.outside_bases(value.made)
                    if any(base.startswith("torch.nn.") for base in bases):
                        return not names_a_loss_module(value.made.symbol)
                    if all(base.startswith(_NO_TRAINERS) for base in bases):
                        return False  # of what derives from a class of a library, the name decides
                case ExternalResult(name=name) if name.startswith("torch.nn."):
                    return not names_a_loss_module(name)
                case FunctionValue():
                    return False
        return names_a_model(last_name(func))

    # -- what runs in every iteration -------------------------------------------------------------------------------

    def _turns(self, hot: HotLoop) -> Iterator[ProgramPoint]:
        bound = _bound_in(hot.node)
        seen: set[Function] = {hot.function}
        for spot in self.spots(hot.function):
            if hot.node not in spot.loops or spot.leaves:
                continue
            if any(hot.node in test.loops and self._differs(test, bound, spot.function) for test in spot.tests):
                continue
            yield spot
            yield from self._called(spot, seen, _DEPTH)

    def _called(self, spot: ProgramPoint, seen: set[Function], depth: int) -> Iterator[ProgramPoint]:
        """What the functions that a spot calls do each time they run; not those that loop over batches themselves.

        What a condition asks of a function is left out: the step needs the answer.
        """
        if isinstance(spot.statement, ast.If | ast.While | ast.Assert):
            return
        for function in self.callees(spot) if depth else ():
            if function in seen or self._loops_over_batches(function):
                continue
            seen.add(function)
            yield from self._each_time(function, seen, depth - 1)

    def _each_time(self, function: Function, seen: set[Function], depth: int) -> Iterator[ProgramPoint]:
        for inner in self.each_time(function):
            yield inner
            yield from self._called(inner, seen, depth)

    def each_time(self, function: Function) -> Iterator[ProgramPoint]:
        """What a function itself does each time it runs."""
        bound = {name for name, bindings in function.scope.names.items() if bindings[0].kind not in _STEADY}
        for inner in self.spots(function):
            if not inner.leaves and not any(self._differs(test, bound, function) for test in inner.tests):
                yield inner

    def _loops_over_batches(self, function: Function) -> bool:
        loops = {loop for spot in self.spots(function) for loop in spot.loops}
        return any(self.drawn.from_a_loader(loop, function) for loop in loops)

    def _differs(self, test: Test, bound: set[str], function: Function) -> bool:
        """Whether a condition may hold in some iterations only, not counting one that picks those that step."""
        if self._decides(test, function) or any(says_the_same(test, other) for other in self._deciding(function)):
            return False
        if adds_to_what_is_there(test) or gradients_there(test.expr) is not None or is_of_the_finite(test):
            return False
        for node in asked(test.expr):
            if isinstance(node, ast.Call) and last_name(node.func) not in _STEADY_CALLS:
                return True
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                return True
            if isinstance(node, ast.Name | ast.Attribute):
                name = last_name(node)
                own = isinstance(node, ast.Name) and name in bound  # `args.mask` is no variable named `mask`
                if own or names_a_counter(name) or _SWITCHED_OFF.search(name.lower()):
                    return True
        return False

    def _decides(self, test: Test, function: Function) -> bool:
        """Whether a step is taken, or a window of steps ends, only where a condition holds, or only where not."""
        if test not in self._decides_a_step:
            nodes = [node for part in test.body for node in walk(part)]
            ends = any(self._steps_in(node, function) for node in nodes)
            self._decides_a_step[test] = ends or (
                # What clears where the loss is no number ends no window: a count of iterations must say so.
                any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in walk(test.expr))
                and any(self._clears(node, function) for node in nodes)
            )
        return self._decides_a_step[test]

    def _deciding(self, function: Function) -> list[Test]:
        """The conditions of a function that a step depends on."""
        if function not in self._on_steps:
            tests = dict.fromkeys(test for spot in self.spots(function) for test in spot.tests)
            self._on_steps[function] = [test for test in tests if self._decides(test, function)]
        return self._on_steps[function]

    def _steps_in(self, node: ast.AST, function: Function) -> bool:
        return isinstance(node, ast.Call) and self._is_step(ProgramPoint(node, ast.Pass(), function))

    def _clears(self, node: ast.AST, function: Function) -> bool:
        """Whether gradients are cleared, as they are once a step is taken."""
        match node:
            case ast.Call(func=ast.Attribute(value=optimizer, attr="zero_grad")):
                return self.roles.is_optimizer(optimizer, self.evaluator.root_frame(function))
        return False


def _is_of_a_model(function: Function) -> bool:
    """Whether it is the forward of a module that computes no loss: a loss is computed in each step, by every part."""
    return function.name == "forward" and not (function.owner and names_a_loss_module(function.owner.symbol))


def _may_train(module: Module) -> bool:
    data = module.file.data
    return module.file.mentions_amp or (b"DataLoader" in data and b"backward(" in data)


def _bound_in(loop: Loop) -> set[str]:
    """Names that an iteration of the loop binds, without the variables of inner loops: it has all of those."""
    nodes = tuple(walk(loop))
    bound = {target.id for target, _ in bound_targets(nodes) if isinstance(target, ast.Name)} | {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    inner = [node.target for node in nodes if isinstance(node, ast.For | ast.AsyncFor) and node is not loop]
    return bound - {name.id for target in inner for name in walk(target) if isinstance(name, ast.Name)}

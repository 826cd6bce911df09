"""Reachability of AMP events over the call graph, and the entry points from which lowering starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TypeGuard

from verifygate import torch_names
from verifygate.base.depth_first import depth_first
from verifygate.base.fixpoint import fixpoint
from verifygate.sources.byte_patterns import Alternatives
from verifygate.sources.outline import Span
from verifygate.static.amp.roles import Roles
from verifygate.static.lowering.external_steps import scaler_is_handed_over
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_script, walk
from verifygate.static.values.call_filter import CallFilter
from verifygate.static.values.domain import UNKNOWN, Frame, FunctionValue

_EVENT = Alternatives(
    r"autocast|scaler|Scaler|unscale_|clip_grad|backward\(|zero_grad|accumulate_grad_hook|\.step\(|\.grad\b"
)


class Reachability:
    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self._known: dict[Function, bool] = {}
        self._own: dict[Function, bool] = {}
        self._callees: dict[Function, set[Function]] = {}
        self._named: dict[Module, bool] = {}
        self._spans: dict[tuple[Module, Span], bool] = {}
        self._aliases: dict[Module, set[str]] = {}
        self.names = CallFilter(roles.evaluator)

    @cached_property
    def scaler_is_handed_over(self) -> bool:
        """Whether a call that is not followed may run a step of the protocol that the project handed over."""
        return scaler_is_handed_over(self.roles.evaluator.program.parsed, self.roles.evaluator)

    def has_events(self, function: Function) -> bool:
        """Whether walking the function can meet an event. A function on a cycle counts by what else it does."""
        if function not in self._known:
            depth_first(function, self._known, self._looking)
        return self._known[function]

    def _looking(self, function: Function) -> Iterator[Function]:
        """Find out whether a function has events; yields the functions that it calls, which have to be known first."""
        self.names.learn((function.module,))
        self._known[function] = False
        if function not in self._own:
            self._own[function] = self.has_own_events(function)
        frame = self.roles.evaluator.root_frame(function)
        leads = self._callees.setdefault(function, set())
        for call in function.calls:
            if not self.names.may_run(call, frame):
                continue
            for callee in self.roles.evaluator.callees(call, frame):
                if callee.function is not function:
                    yield callee.function
                    if self._known[callee.function]:
                        leads.add(callee.function)
        self._known[function] = self._own[function] or bool(leads)

    def runs_events(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> bool:
        """Whether a call that runs the function can meet an event.

        Where it is called by another name (`each(trainer)`), what it is passed is known only here.
        """
        function = callee.function
        if self.has_events(function):
            return True
        if last_name(call.func) in (function.name, function.owner.node.name if function.owner is not None else ""):
            return False
        steps = [each.func.value for each in function.calls if _is_common(each.func)]
        entered = self.roles.evaluator.enter(callee, call, frame) if steps else None
        return entered is not None and any(self._plays_a_part(each, entered) for each in steps)

    def has_own_events(self, function: Function) -> bool:
        """Whether the function's own body, without what it calls, may hold an event."""
        aliases = self._aliases.get(function.module)
        if aliases is None:
            aliases = self._aliases[function.module] = _aliases(function.module)
        frame = self.roles.evaluator.root_frame(function)
        for attribute in function.of_kind(ast.Attribute):
            if attribute.attr == "grad" or attribute.attr in torch_names.EVENT_WORDS | torch_names.ENTERING_METHODS:
                return True
        for node in function.calls:
            name = last_name(node.func)
            if name in torch_names.EVENT_WORDS or name in aliases:
                return True
            if _is_common(node.func) and self._plays_a_part(node.func.value, frame):
                return True
        inside = (node for each in function.of_kind(ast.Lambda) for node in walk(each.body))
        return any(isinstance(node, ast.Attribute) and node.attr in torch_names.EVENT_WORDS for node in inside)

    def hold_events(self, statements: Sequence[ast.stmt], frame: Frame) -> bool:
        """Whether statements, or what they call, may hold an event."""
        calls = (node for each in statements for node in walk(each) if isinstance(node, ast.Call))
        return any(
            last_name(call.func) in torch_names.EVENT_WORDS
            or any(self.has_events(callee.function) for callee in self.roles.evaluator.callees(call, frame))
            for call in calls
        )

    def _plays_a_part(self, receiver: ast.expr, frame: Frame) -> bool:
        """Whether `receiver.step()` or `.update()` is about training, and not about a dict or a game."""
        roles = self.roles
        return (
            roles.scaler(receiver, frame) is not None
            or roles.is_optimizer(receiver, frame)
            or roles.is_scheduler(receiver, frame)
        )

    def callees(self, function: Function) -> set[Function]:
        """Functions with events that it calls."""
        self.has_events(function)
        return self._callees[function]

    def parts(self, root: Function, frame: Frame | None) -> dict[Function, Frame | None]:
        """Functions with events that it calls; those with one call site, with the frame that this call enters."""
        evaluator = self.roles.evaluator
        home = frame or evaluator.root_frame(root)
        calls = [call for call in root.calls if self.names.may_run(call, home)]
        runs = [(value, call) for call in calls for value in evaluator.callees(call, home)]
        found: dict[Function, Frame | None] = {}
        for part in sorted(self.callees(root), key=lambda each: (each.module.path, each.symbol)):
            calls_of_it = [(value, call) for value, call in runs if value.function is part]
            alone = len(calls_of_it) == 1 and sum(part in leads for leads in self._callees.values()) == 1
            found[part] = evaluator.enter(*calls_of_it[0], home) if alone else None
        return found

    def entered(self, root: Function) -> Function | None:
        """The function that an entry point without events of its own calls once, straight, passing nothing known.

        All that does so can meet the same: `run(**options)` beside `if __name__ == "__main__":`, both calling `main`.
        """
        callees = self.callees(root)
        if len(callees) != 1 or self._own[root]:
            return None
        evaluator, frame = self.roles.evaluator, self.roles.evaluator.root_frame(root)
        (callee,) = callees
        calls = [
            (call, value)
            for call in root.calls
            for value in (evaluator.callees(call, frame) if self.names.may_run(call, frame) else ())
            if value.function is callee
        ]
        if len(calls) != 1 or calls[0][0] not in _straight(root.node.body):
            return None
        inside = evaluator.enter(calls[0][1], calls[0][0], frame)
        given = inside.arguments.values() if inside is not None and inside.receiver is None else None
        passes_known = given is None or any(evaluator.values(each.expr, each.frame) != (UNKNOWN,) for each in given)
        return None if passes_known else callee

    def candidates(self, modules: list[Module]) -> list[Function]:
        """The functions with events; what has no word of events, and runs none in a loop, only calls what has some."""
        found = []
        for module in modules:
            named = self._names_events(module)
            for function in module.all_functions:
                if (self._may_begin(function) if named else self._repeats(function)) and self.has_events(function):
                    found.append(function)
        return found

    def _repeats(self, function: Function) -> bool:
        """Whether a loop of the function runs events: `for batch in loader: engine.train_step(batch)`."""
        frame = self.roles.evaluator.root_frame(function)
        return any(
            self.names.may_run(call, frame)
            and any(self.has_events(callee.function) for callee in self.roles.evaluator.callees(call, frame))
            for loop in function.loops
            for call in walk(loop)
            if isinstance(call, ast.Call)
        )

    def _may_begin(self, function: Function) -> bool:
        """Whether a walk may start from it: where only some definitions are looked at, a word of events is in it."""
        module = function.module
        span = module.span_of(function)
        if span is not None and (module, span) not in self._spans:
            self._spans[module, span] = _EVENT.found_in(module.file.data, span.start, span.end)
        return span is None or self._spans[module, span]

    def _names_events(self, module: Module) -> bool:
        if module not in self._named:
            self._named[module] = _EVENT.found_in(module.file.data)
        return self._named[module]

    def roots(self, modules: list[Module]) -> list[Function]:
        """Functions with events that nothing in the project calls: module bodies, entry points, hooks of frameworks."""
        with_events = self._settled(modules)
        called = {callee for callees in self._callees.values() for callee in callees}
        return [function for function in with_events if function not in called]

    def outermost(self, methods: list[Function]) -> list[Function]:
        """The methods outermost in the call graph of their class and its bases by which objects come to these."""
        callers: dict[Function, list[Function]] = {}
        for caller, leads in self._callees.items():
            for callee in leads if caller.owner is not None else ():
                callers.setdefault(callee, []).append(caller)
        found: dict[Function, None] = {}
        for method in methods:
            family = self.roles.evaluator.linearised(method.owner) if method.owner is not None else ()
            above = partial(_callers_within, callers=callers, family=family)
            found |= dict.fromkeys(each for each in fixpoint([method], above) if each is not method and not above(each))
        return list(found)

    def _settled(self, modules: list[Module]) -> list[Function]:
        """The functions with events; again, where files that were parsed on the way bind what was passed over."""
        program = self.roles.evaluator.program
        while True:
            self.names.learn(program.parsed)
            self._known.clear()
            self._callees.clear()
            found = self.candidates(modules)
            self.names.learn(program.parsed)
            if not self.names.has_passed_over_bound_ones():
                return found


def _is_common(func: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(func, ast.Attribute) and func.attr in torch_names.COMMON_WORDS


def _callers_within(
    method: Function, callers: dict[Function, list[Function]], family: Sequence[Class]
) -> list[Function]:
    """The methods of a class, or of those that it derives from, that call one."""
    return [each for each in callers.get(method, ()) if each.owner in family]


def _straight(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """The expressions that are statements of a body, or of what it does as a script."""
    for statement in body:
        if isinstance(statement, ast.Expr | ast.Return | ast.Assign) and statement.value is not None:
            yield statement.value
        elif isinstance(statement, ast.If) and is_script(statement.test):
            yield from _straight(statement.body)


def _aliases(module: Module) -> set[str]:
    """CallFilter under which the module imports something whose own name is an event's."""
    return {
        name
        for name, bindings in module.body.scope.names.items()
        for binding in bindings
        if binding.kind == "member" and binding.target.rpartition(":")[2] in torch_names.EVENT_WORDS
    }

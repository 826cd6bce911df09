"""Lower a function, with every project function it calls, to one event graph."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from verifygate import torch_names
from verifygate.model import NotFollowed
from verifygate.protocol import Event
from verifygate.static.amp.decorator_regions import around
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import (
    class_chosen,
    definition_chosen,
    expand,
    fact_of,
    gradients_there,
    is_about_all,
    is_finite_check,
    is_of_what_is_not_there,
)
from verifygate.static.conditions.optional_objects import asked_of, perhaps_none
from verifygate.static.conditions.predicates import Atom, Fact
from verifygate.static.lowering.builder import Activation, AtYield, Edges, TooLargeError
from verifygate.static.lowering.call_events import Meaning, Signals
from verifygate.static.lowering.event_graph import (
    Backward,
    Branch,
    Enter,
    ForeignBackward,
    Graph,
    Leave,
    Node,
    Pass,
    Signal,
)
from verifygate.static.lowering.generators import MAX_INLINED, YieldingLowering
from verifygate.static.lowering.mode_branches import mode_chosen, settle
from verifygate.static.lowering.optimizer_loops import turn_of
from verifygate.static.lowering.reachability import Reach
from verifygate.static.symbols.location import Place
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.exit_stacks import stacked
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children
from verifygate.static.values.domain import Frame, FunctionValue
from verifygate.static.values.overrides import is_left_open

_FINITE_WORDS = tuple(word.encode() for word in torch_names.FINITE_WORDS)
MAX_CALLS = 500
"""Calls inlined below one root; real training scripts need some forty."""


class Lowering(YieldingLowering):
    """Builds the graph of one root."""

    def __init__(self, root: Function, roles: Roles, reach: Reach, entered: Frame | None = None) -> None:
        super().__init__(root, roles, reach)
        self._entered = entered
        """The frame in which the one call of the root runs it, where what calls it is too large to be walked."""
        self.signals = Signals(roles)
        self.not_followed: list[NotFollowed] = []
        self.leads_past = False
        """Whether a condition that comes out one way alone leads past something that trains."""
        self._calls = 0
        self._modes: set[str] = set()
        """What the conditions ask that choose between training with a scaler and without."""

    def lower(self, heir: Class | None = None, *, again: bool = False) -> Graph:
        """Raises TooLargeError where inlining does not end within the limits.

        `heir`: for a method, the class of the object that it runs on, where that is one below its own.
        `again`: as something runs it that calls it for one step after the other, each time with other arguments.
        """
        root = self.graph.root
        entered = self._entered if heir is None else None
        here = Activation(entered or self.roles.evaluator.heirs_frame(root, heir))
        self.graph.nodes.append(Node(Pass(), Place(root, root.node), frozenset()))
        self._loose = [(0, None)]
        if again:
            self._loops_seen += 1
            self._loops.append(self._loops_seen)
            given = root.parameters[root.owner is not None and not root.is_static :]
            for name in (ast.copy_location(ast.Name(each.arg), each) for each in given):
                if not self.roles.is_optimizer(name, here.frame) and self.roles.scaler(name, here.frame) is None:
                    self._assign(name, None, name, here)
        self._function(here)
        if again:
            self._connect(self._loose, 0)
        settle(self.graph, self._modes)
        self.graph.prune()
        return self.graph

    # -- functions ---------------------------------------------------------------------------------------------

    def _function(self, here: Activation) -> None:
        """Lower the body of a function, inside the regions of its decorators where it has some."""
        function = here.frame.function
        self.graph.functions.add(function)
        module = self.roles.evaluator.module_frame(function.module)
        written = getattr(function.node, "decorator_list", ())
        regions = [(each, found) for each in written if (found := self.roles.region(each, module))]
        regions += around(function, self.roles) if written else ()
        for decorator, found in regions:
            self._emit(Enter(found.active, found.caches), decorator, here)
        self._body(function.node.body, here)
        self._loose += here.returns
        for _ in regions:
            self._emit(Leave(), function.node, here)

    def _inline(self, callee: FunctionValue, call: ast.Call, here: Activation, at_yield: AtYield | None = None) -> None:
        frame = self.roles.evaluator.enter(callee, call, here.frame)
        if frame is None:
            self._not_followed(call, here, f"{callee.function.name} calls itself")
            return
        if frame.depth > MAX_INLINED:
            self._not_followed(call, here, f"calls nested deeper than {MAX_INLINED}")
            return
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise TooLargeError
        result = f"result of line {call.lineno} in {here.frame.function.module.path}"
        activation = Activation(frame, result=result, at_yield=at_yield)
        self._returned[id(call)] = result
        self._hand_over(call, frame, here)
        outer, self._jump_count = self._jump_count, 0
        self._function(activation)
        self._jump_count = outer

    def _not_followed(self, node: ast.AST, here: Activation, reason: str) -> None:
        place = Place(here.frame.function, node)
        self.not_followed.append(NotFollowed(path=place.path, line=place.line, reason=reason))

    # -- statements --------------------------------------------------------------------------------------------

    def _body(self, body: Sequence[ast.stmt], here: Activation) -> None:
        for statement in body:
            if not self._loose:
                return  # nothing leads here
            self._statement(statement, here)

    def _statement(self, node: ast.stmt, here: Activation) -> None:
        match node:
            case ast.Expr():
                self._expression(node.value, here)
            case ast.Assign():
                self._expression(node.value, here)
                for target in node.targets:
                    self._assign(target, node.value, node, here)
            case ast.AnnAssign(value=ast.expr() as value):
                self._expression(value, here)
                self._assign(node.target, value, node, here)
            case ast.AugAssign():
                self._expression(node.value, here)
                self._assign(node.target, node.value, node, here, keeps=True)
            case ast.If():
                with self._prunable():
                    self._if(node, here)
            case ast.For() | ast.AsyncFor() if generator := self._generator(node.iter, here):
                self._drawn(generator, node, here)
            case ast.For() | ast.AsyncFor() | ast.While():
                with self._prunable():
                    self._loop(node, here)
            case ast.With() | ast.AsyncWith():
                self._with(node, 0, here)
            case ast.Try():
                self._try(node, here)
            case ast.Return():
                self._return(node, here)
            case ast.Raise():
                self._jump_count += 1
                self._loose = []
            case ast.Break() | ast.Continue() if here.loops:
                edges = here.loops[-1].breaks if isinstance(node, ast.Break) else here.loops[-1].continues
                edges += self._loose
                self._jump_count += 1
                self._loose = []
            case ast.Match():
                with self._prunable():
                    self._match(node, here)
            case ast.Assert():
                self._expression(node.test, here)

    def _if(self, node: ast.If, here: Activation) -> None:
        guard = here.frame.function.module.mentions(*_FINITE_WORDS) and is_finite_check(node.test)
        start = len(self.graph.nodes)
        yes, no = self._condition(node.test, here.frame, here)
        if not yes or not no:
            taken, left = (node.body, node.orelse) if yes else (node.orelse, node.body)
            jumps = bool(taken) and isinstance(taken[-1], ast.Return | ast.Continue | ast.Break)
            self.leads_past = self.leads_past or jumps or self.reach.hold_events(left, here.frame)
        body = len(self.graph.nodes)
        picks = bool(here.loops) and not is_about_all(node.test)
        here.guards += guard
        if picks:
            here.loops[-1].picks += 1
        self._loose = yes
        self._body(node.body, here)
        after, self._loose = self._loose, no
        otherwise = len(self.graph.nodes)
        self._body(node.orelse, here)
        parts = range(start, body), range(body, otherwise), range(otherwise, len(self.graph.nodes))
        if node.orelse and not guard and (atom := mode_chosen(self.graph.nodes, *parts)):
            self._modes.add(atom.asks)
        here.guards -= guard
        if picks and not isinstance(node.body[-1], ast.Continue):
            here.loops[-1].picks -= 1
        self._loose = after + self._loose

    def _with(self, node: ast.With | ast.AsyncWith, index: int, here: Activation) -> None:
        stack = [ast.withitem(context) for context, _ in stacked(node)]
        if index == len(node.items) + len(stack):
            self._body(node.body, here)
            return
        item = [*node.items, *stack][index]
        if index < len(node.items) and (manager := self._manager(item.context_expr, here)):
            self._managed(manager, item, lambda: self._with(node, index + 1, here), here)
            return
        region = self.roles.region(item.context_expr, here.frame)
        if region is None:
            if index < len(node.items):
                self._expression(item.context_expr, here)
            self._with(node, index + 1, here)
            return
        ways_out = [here.returns, *((here.loops[-1].breaks, here.loops[-1].continues) if here.loops else ())]
        before = [len(edges) for edges in ways_out]
        self._emit(Enter(region.active, region.caches), item.context_expr, here)
        self._with(node, index + 1, here)
        if self._loose:
            self._emit(Leave(), node, here)
        for edges, count in zip(ways_out, before, strict=True):
            if early := edges[count:]:
                outside, self._loose = self._loose, early
                self._emit(Leave(), node, here)
                edges[count:] = self._loose
                self._loose = outside

    def _try(self, node: ast.Try, here: Activation) -> None:
        before = {handler: list(self._loose) for handler in node.handlers}
        if (absent := next((each for each in node.handlers if is_of_what_is_not_there(each)), None)) is not None:
            atom = Atom(f"not implemented: line {absent.lineno} of {here.frame.function.module.path}")
            branch = self._emit(Branch(atom), absent, here)
            before[absent] = [(branch, (atom, True))]
            self._loose = [(branch, (atom, False))]
        self._body(node.body, here)
        self._body(node.orelse, here)
        ends = self._loose
        for handler in node.handlers:
            self._loose = before[handler]
            self._emit(Pass(), handler, here)
            self._body(handler.body, here)
            ends = ends + self._loose
        self._loose = ends
        if self._loose:
            self._body(node.finalbody, here)

    def _match(self, node: ast.Match, here: Activation) -> None:
        self._expression(node.subject, here)
        ends: Edges = []
        for case in node.cases:
            atom = Atom(f"case @{case.pattern.lineno}", opaque=True)
            branch = self._emit(Branch(atom), case.pattern, here)
            self._loose = [(branch, (atom, True))]
            self._body(case.body, here)
            ends += self._loose
            self._loose = [(branch, (atom, False))]
        self._loose = ends + self._loose

    def _return(self, node: ast.Return, here: Activation) -> None:
        if node.value is not None:
            self._expression(node.value, here)
            if here.result and self._loose:
                self._give(here.result, node.value, node, here)
        here.returns += self._loose
        self._jump_count += 1
        self._loose = []

    # -- conditions --------------------------------------------------------------------------------------------

    def _condition(self, test: ast.expr, frame: Frame, here: Activation) -> tuple[Edges, Edges]:
        """Branch on a condition; returns the edges on which it holds and those on which it does not."""
        truth = self.roles.evaluator.truth(test, frame)
        truth = gradients_there(test) if truth is None else truth
        if truth is not None:
            return (self._loose, []) if truth else ([], self._loose)
        match test:
            case ast.UnaryOp(op=ast.Not()):
                yes, no = self._condition(test.operand, frame, here)
                return no, yes
            case ast.BoolOp():
                return self._short_circuit(test, frame, here)
        expanded, home = expand(test, frame, self.roles)
        if expanded is not test:
            return self._condition(expanded, home, here)
        if built := asked_of(test, frame, self.roles):
            return self._condition(built.expr, built.frame, here)
        if frame is here.frame:
            self._expression(test, here)
        atom, wanted = turn_of(test, frame, self.roles) or fact_of(test, frame, self.roles)
        branch = self._emit(Branch(atom), test, here)
        return [(branch, (atom, wanted))], [(branch, (atom, not wanted))]

    def _short_circuit(self, test: ast.BoolOp, frame: Frame, here: Activation) -> tuple[Edges, Edges]:
        early: Edges = []
        is_and = isinstance(test.op, ast.And)
        for part in test.values:
            yes, no = self._condition(part, frame, here)
            early += no if is_and else yes
            self._loose = yes if is_and else no
            if not self._loose:
                break
        return (self._loose, early) if is_and else (early, self._loose)

    # -- expressions -------------------------------------------------------------------------------------------

    def _expression(self, expr: ast.expr, here: Activation) -> None:
        """Lower the calls of an expression in the order in which they run."""
        if here.at_yield and isinstance(expr, ast.Yield | ast.YieldFrom) and self._loose:
            self._yield(expr, here.at_yield, here)
            return
        if not self._loose or not self.reach.names.may_hold(expr):
            return
        match expr:
            case ast.Call():
                self._expression(expr.func, here)
                for argument in (*expr.args, *(word.value for word in expr.keywords)):
                    self._expression(argument, here)
                self._call(expr, here)
            case ast.IfExp():
                with self._prunable():
                    yes, no = self._condition(expr.test, here.frame, here)
                    self._loose = yes
                    self._expression(expr.body, here)
                    after, self._loose = self._loose, no
                    self._expression(expr.orelse, here)
                    self._loose = after + self._loose
            case ast.Lambda():
                pass
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for generator in expr.generators:
                    self._expression(generator.iter, here)
                for part in (expr.key, expr.value) if isinstance(expr, ast.DictComp) else (expr.elt,):
                    self._expression(part, here)
            case _:
                for child in children(expr):
                    if isinstance(child, ast.expr):
                        self._expression(child, here)

    def _yield(self, expr: ast.Yield | ast.YieldFrom, at_yield: AtYield, here: Activation) -> None:
        """Run what the caller does where a generator yields, or where one does that it hands on."""
        if isinstance(expr, ast.YieldFrom) and (inner := self._generator(expr.value, here)):
            self._inline(*inner, here, at_yield)
            return
        if expr.value is not None:
            self._expression(expr.value, here)
        at_yield(expr.value if isinstance(expr, ast.Yield) else None, here)

    def _call(self, call: ast.Call, here: Activation) -> None:
        if not self._loose or not self.reach.names.may_mean(call):
            return
        meaning = self.signals.of_call(call, here.frame, here.guards > 0)
        if meaning is not None:
            if (holder := perhaps_none(call, here.frame, self.roles)) is not None:  # a method of None raises
                self._loose, _ = self._condition(holder, here.frame, here)
            self._meaning(self._from_parts(meaning, call, here), call, here)
            return
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend", "add") and call.args:
            self._put_in(call.func.value, call.args[0], call, here)
        callees = [
            value
            for value in self.roles.evaluator.callees(call, here.frame)
            if self.reach.has_events(value.function) and not value.function.is_generator
        ]
        if callees:
            self._one_of(callees, call, here)

    def _one_of(self, callees: list[FunctionValue], call: ast.Call, here: Activation) -> None:
        """Lower a call that runs one of these functions, or one without events where something says which it is."""
        may_run = self.roles.evaluator.callees(call, here.frame)
        others = [each for each in may_run if each not in callees and not is_left_open(each.function)]
        ways = [(each, self._which_it_is(each, call, here.frame)) for each in (*callees, *others)]
        ways = [(callee, fact) for callee, fact in ways if callee in callees or fact is not None]
        if len(ways) == 1:
            self._inline(callees[0], call, here)
            return
        ends: Edges = []
        start = self._loose
        for index, (callee, chosen) in enumerate(ways):
            fact = chosen or (Atom(f"callee {index} @{call.lineno}:{call.col_offset}", opaque=True), True)
            self._loose = list(start)
            branch = self._emit(Branch(fact[0]), call, here)
            self._loose = [(branch, fact)]
            if callee in callees:
                self._inline(callee, call, here)
            ends += self._loose
        self._loose = ends

    def _which_it_is(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> Fact | None:
        """What is known where a call runs one function and no other: the class of an object, or what was asked."""
        of_class = class_chosen(callee, call, frame, self.roles)
        return (of_class, True) if of_class is not None else definition_chosen(callee, call, frame, self.roles)

    def _meaning(self, meaning: Meaning, call: ast.Call, here: Activation) -> None:
        if meaning.closure is not None:
            self._closure(meaning.closure, call, here)
        if meaning.enabled is None or meaning.on is None:
            if meaning.on is not None:
                self._signal(meaning.on, call, here)
            return
        yes, no = self._enabled(meaning.enabled, call, here)
        self._loose = yes
        if yes:
            self._signal(meaning.on, call, here)
        after, self._loose = self._loose, no
        if meaning.off is not None and no:
            self._signal(meaning.off, call, here)
        self._loose = after + self._loose

    def _closure(self, closure: ast.expr, call: ast.Call, here: Activation) -> None:
        for value in self.roles.evaluator.values(closure, here.frame):
            if isinstance(value, FunctionValue) and self.reach.has_events(value.function):
                self._inline(value, ast.copy_location(ast.Call(func=closure, args=[], keywords=[]), call), here)

    def _signal(self, signal: Signal | Backward | ForeignBackward, node: ast.AST, here: Activation) -> None:
        if isinstance(signal, Signal):
            whole = isinstance(node, ast.Call) and last_name(node.func) == "zero_grad"
            if signal.event is Event.ZERO_GRAD and here.loops and here.loops[-1].picks and not whole:
                return  # the gradients of some parameters are dropped, to freeze them: the others are used
            if signal.scaler:
                self.graph.scalers.add(signal.scaler)
            if signal.optimizer and signal.optimizer not in self.graph.optimizers:
                self.graph.optimizers[signal.optimizer] = self._module_names(node, here)
        self._emit(signal, node, here)

    def _module_names(self, node: ast.AST, here: Activation) -> frozenset[str]:
        """Names of the modules whose parameters the optimizer of a call holds."""
        if not isinstance(node, ast.Call):
            return frozenset()
        candidates = [node.args[0]] if node.args else []
        if isinstance(node.func, ast.Attribute):
            candidates.append(node.func.value)
        names: frozenset[str] = frozenset()
        for candidate in candidates:
            names |= self.roles.optimizer_names(candidate, here.frame)
        return names

"""Lower what a generator of the project hands the control to: the body of a `with`, or the turns of a loop.

    with self.optimize(loss):       # @contextmanager: scale, backward, `yield`, step, update
        clip_grad_norm_(...)        # happens at the `yield`

The body is lowered where the generator yields, so an event in it comes between those of the generator.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable

from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.predicates import Atom
from verifygate.static.lowering.assignments import AssignmentLowering
from verifygate.static.lowering.builder import Activation, AtYield, Edges, Loop
from verifygate.static.lowering.event_graph import Branch
from verifygate.static.lowering.reachability import Reach
from verifygate.static.symbols.generators import is_manager
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import FunctionValue

MAX_INLINED = 10
_HAND_ON = frozenset({"enumerate", "tqdm", "iter"})
"""What goes over a generator item by item, and gives each of them, perhaps with a number before it."""


class YieldingLowering(AssignmentLowering):
    """Lowers generators into what they are run by; the rest is lowered by the class that derives from it."""

    def __init__(self, root: Function, roles: Roles, reach: Reach) -> None:
        super().__init__(root, roles)
        self.reach = reach

    @abstractmethod
    def _inline(
        self, callee: FunctionValue, call: ast.Call, here: Activation, at_yield: AtYield | None = None
    ) -> None: ...

    def _generator(self, expr: ast.expr, here: Activation) -> tuple[FunctionValue, ast.Call] | None:
        """The one generator with events that an expression runs, and its call."""
        while isinstance(expr, ast.Call) and simple_name(expr.func) in _HAND_ON and expr.args:
            expr = expr.args[0]
        if not isinstance(expr, ast.Call) or not self.reach.names.may_mean(expr):
            return None
        callees = self.roles.evaluator.callees(expr, here.frame)
        if len(callees) != 1 or not (function := callees[0].function).is_generator:
            return None
        nested = here.frame.entered(function) or here.frame.depth >= MAX_INLINED
        return (callees[0], expr) if not nested and self.reach.has_events(function) else None

    def _manager(self, expr: ast.expr, here: Activation) -> tuple[FunctionValue, ast.Call] | None:
        """The generator behind a context manager of the project."""
        found = self._generator(expr, here)
        return found if found and is_manager(found[0].function) else None

    def _managed(
        self,
        manager: tuple[FunctionValue, ast.Call],
        item: ast.withitem,
        body: Callable[[], None],
        here: Activation,
    ) -> None:
        """A `with` around a body: however that is left, the manager goes on after its `yield`."""
        ways_out = [here.returns, *((here.loops[-1].breaks, here.loops[-1].continues) if here.loops else ())]
        left: list[tuple[int, Edges]] = []

        def run() -> None:
            before = [len(edges) for edges in ways_out]
            body()
            for number, (edges, count) in enumerate(zip(ways_out, before, strict=True)):
                if early := edges[count:]:
                    edges[count:] = []
                    self._loose = self._loose + early
                    left.append((number, edges))

        self._suspended(manager, item.optional_vars, run, here)
        for number, edges in left if self._loose else ():
            atom = Atom(f"way {number} out @{item.context_expr.lineno}", opaque=True)
            branch = self._emit(Branch(atom), item.context_expr, here)
            edges.append((branch, (atom, True)))
            self._loose = [(branch, (atom, False))]

    def _drawn(self, generator: tuple[FunctionValue, ast.Call], node: ast.For | ast.AsyncFor, here: Activation) -> None:
        """A loop over a generator: a turn at each `yield`. To leave the loop ends the generator as well."""
        loop = Loop()

        def run() -> None:
            here.loops.append(loop)
            self._body(node.body, here)
            here.loops.pop()
            self._loose, loop.continues = self._loose + loop.continues, []

        self._assign(node.target, None, node, here)
        target = node.target
        if isinstance(node.iter, ast.Call) and simple_name(node.iter.func) == "enumerate":
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        self._suspended(generator, target, run, here)
        self._body(node.orelse, here)
        self._loose = self._loose + loop.breaks

    def _suspended(
        self,
        generator: tuple[FunctionValue, ast.Call],
        target: ast.expr | None,
        run: Callable[[], None],
        here: Activation,
    ) -> None:
        """Inline a generator; where it yields, `target` gets what it yields, and `run` lowers what is done with it."""

        def at_yield(given: ast.expr | None, inside: Activation) -> None:
            if target is not None and given is not None:
                self._receive(target, given, here, inside)
            run()

        self._inline(*generator, here, at_yield)

    def _receive(self, target: ast.expr, given: ast.expr, here: Activation, inside: Activation) -> None:
        """A variable of the caller gets what the generator yields."""
        if isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple) and len(target.elts) == len(given.elts):
            for part, value in zip(target.elts, given.elts, strict=True):
                self._receive(part, value, here, inside)
        elif isinstance(target, ast.Name | ast.Attribute):
            self._give(self.roles.path(target, here.frame), given, given, inside)

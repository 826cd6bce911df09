"""State of a lowering: of the whole graph (`Context`), and of the function being inlined (`Activation`)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from verifygate.base.records import field, record
from verifygate.model import NotFollowed
from verifygate.static.amp.roles import Roles
from verifygate.static.lowering.builder import Edges, GraphBuilder
from verifygate.static.lowering.call_events import CallEvents
from verifygate.static.lowering.reachability import Reachability
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Bound, Frame, FunctionValue

AtYield = Callable[[ast.expr | None, "Activation"], None]
"""What a generator's caller does with what it yields, called with the generator's own activation."""
DispatchTable = Mapping[type[ast.AST], Callable[[Any, "Activation"], None]]
"""Class of a statement or an expression -> the function that lowers it."""


class Context:
    """The lowering of one entry point with everything that it inlines."""

    def __init__(self, builder: GraphBuilder, roles: Roles, reach: Reachability, table: DispatchTable) -> None:
        self.builder = builder
        self.roles = roles
        self.reach = reach
        self.table = table
        self.signals = CallEvents(roles)
        self.scaling = self.signals.scaling
        self.results: dict[ast.Call, AccessPath] = {}
        """Calls that were inlined -> access path of what they return."""
        self.inlined = 0
        """How many calls were inlined."""
        self.not_followed: list[NotFollowed] = []
        self.entered_by_hand: list[AccessPath] = []
        """The contexts, or the stacks, through which a region was entered without `with`."""
        self.gradient_hooks: list[GradientHook] = []
        """The hooks with events that are registered so far."""
        self.decided: list[Bound] = []
        """The parts with one outcome alone of the condition that is being lowered."""
        self.led_past: list[Bound] = []
        """The parts of conditions that lead past something that trains, by having one outcome alone."""
        self.modes: set[str] = set()
        """The conditions that choose between training with a scaler and without, by what they ask."""


@record(eq=False)
class GradientHook:
    """A function that every backward runs for the gradient of a parameter, and the call that registered it."""

    callee: FunctionValue
    call: ast.Call
    frame: Frame


@record(eq=False, frozen=False)
class Loop:
    """A loop being lowered: the edges out of its body, other than its end."""

    breaks: Edges = field(default_factory=list)
    continues: Edges = field(default_factory=list)
    filters: int = 0
    """How many conditions inside it select the elements that the present statement is about."""


@record(eq=False, frozen=False)
class Activation:
    """An activation record: one function being inlined, where its returns lead, and its loops."""

    frame: Frame
    context: Context
    returns: Edges = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    finite_checks: int = 0
    """How many conditions around the present statement are hand-written finite checks."""
    result: AccessPath | None = None
    """What it returns; None for the entry point."""
    at_yield: AtYield | None = None
    """Of a generator: what is run where it yields."""

    @property
    def builder(self) -> GraphBuilder:
        return self.context.builder

    @property
    def roles(self) -> Roles:
        return self.context.roles

    @contextmanager
    def inside(self, loop: Loop) -> Iterator[None]:
        """Lower the body of a loop: `break` and `continue` are about this one."""
        self.loops.append(loop)
        yield
        self.loops.pop()


class EarlyExits:
    """The edges that leave a block by `return`, `break` and `continue`, from where this is made on."""

    def __init__(self, here: Activation) -> None:
        exits = {"return": here.returns}
        if here.loops:
            exits |= {"break": here.loops[-1].breaks, "continue": here.loops[-1].continues}
        self._exits = [(kind, edges, len(edges)) for kind, edges in exits.items()]

    def cut(self) -> list[tuple[str, Edges, Edges]]:
        """Take the edges out of the lists of their kinds; returns each kind, its list, and what was cut from it."""
        found = []
        for kind, edges, before in self._exits:
            if early := edges[before:]:
                del edges[before:]
                found.append((kind, edges, early))
        return found

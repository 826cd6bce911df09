"""Lower loops: the ways round and out of one, and whose turn it is where a loop goes over a collection of optimizers.

The members of a collection share one canonical path. The walk watches one of them, any one: in some turn of the loop
it is that one's turn, in all others it is the turn of another member, and what is done to that one is not done to it.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence

from verifygate.base.records import replace
from verifygate.static.amp.roles import Roles
from verifygate.static.conditions.normal_form import fact_of
from verifygate.static.conditions.predicates import Atom
from verifygate.static.lowering.builder import Activation, Builder, Edges, Loop
from verifygate.static.lowering.event_graph import Assign, Branch, Member, Part, Pass
from verifygate.static.lowering.optimizer_loops import members, selection, written_out
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, Frame, Literal

_LEAVING = ast.Return | ast.Raise


class LoopLowering(Builder):
    """Lowers `for` and `while`; what stands in them is lowered by the class that derives from it."""

    def __init__(self, root: Function, roles: Roles) -> None:
        super().__init__(root)
        self.roles = roles
        self._loops_seen = 0

    @abstractmethod
    def _body(self, body: Sequence[ast.stmt], here: Activation) -> None: ...

    @abstractmethod
    def _expression(self, expr: ast.expr, here: Activation) -> None: ...

    @abstractmethod
    def _condition(self, test: ast.expr, frame: Frame, here: Activation) -> tuple[Edges, Edges]: ...

    @abstractmethod
    def _assign(
        self, target: ast.expr, value: ast.expr | None, node: ast.AST, here: Activation, *, keeps: bool = False
    ) -> None: ...

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, here: Activation) -> None:
        jumps = self._jump_count
        turns = written_out(node, here.frame, self.roles) if not isinstance(node, ast.While) else []
        if isinstance(node, ast.While) or not (turns := turns or self._once(node, here.frame)):
            self._repeated(node, here)
        else:
            self._unrolled(node, turns, here)
        if self._jump_count != jumps and not any(isinstance(inner, _LEAVING) for inner in walk(node)):
            self._jump_count = jumps  # its own break and continue do not leave it

    def _once(self, node: ast.For | ast.AsyncFor, frame: Frame) -> list[dict[str, Bound]]:
        """The turn of a loop within a loop that has one, by a constant: `for _ in range(D_STEPS)`."""
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[count]) if self._loops:
                values = self.roles.evaluator.values(count, frame)
                return (
                    [{}] if values and all(isinstance(value, Literal) and value.value == 1 for value in values) else []
                )
        return []

    def _unrolled(self, node: ast.For | ast.AsyncFor, turns: list[dict[str, Bound]], here: Activation) -> None:
        """A loop over a few optimizers that are written out, or of one turn: its turns one after the other."""
        self._expression(node.iter, here)
        if not any(turns):
            self._assign(node.target, None, node, here)
        self._loops_seen += 1
        self._loops.append(self._loops_seen)
        loop = Loop()
        here.loops.append(loop)
        for turn in turns:
            frame = replace(here.frame, memo={}, fixed=here.frame.fixed | turn)
            self._body(node.body, Activation(frame, here.returns, here.loops, here.guards, result=here.result))
            self._loose, loop.continues = self._loose + loop.continues, []
        here.loops.pop()
        self._loops.pop()
        self._body(node.orelse, here)
        self._loose = self._loose + loop.breaks

    def _repeated(self, node: ast.For | ast.AsyncFor | ast.While, here: Activation) -> None:
        found: list[str] = []
        if not isinstance(node, ast.While):
            self._expression(node.iter, here)
            found = members(node, here.frame, self.roles)
            self._enter(found, node, here)
            self._assign(node.target, None, node, here)  # what was known of its counter before is over
        entry = self._emit(Pass(), node, here)
        head = self._emit(Pass(), node, here)
        self._loops_seen += 1
        self._loops.append(self._loops_seen)
        loop = Loop()
        here.loops.append(loop)
        if isinstance(node, ast.While):
            self._loose, leave = self._condition(node.test, here.frame, here)
            for test in self.graph.nodes[head + 1 :]:
                if isinstance(test.payload, Branch):
                    test.payload = replace(test.payload, turns=True)
        else:
            leave = None  # a loop over data runs at least once: nobody trains on nothing
            self._assign(node.target, None, node, here)
            self._turn(found, node, here)
        self._body(node.body, here)
        turns = self._go_round(entry, head, self._loose + loop.continues, node, here)
        here.loops.pop()
        self._loops.pop()
        self._loose = turns if leave is None else leave
        self._body(node.orelse, here)
        self._loose = self._loose + loop.breaks
        for member in found:
            if self._loose:
                self._emit(Member(member, Part.LEAVE), node, here)
            self._members.remove(member)

    def _enter(self, found: list[str], node: ast.For | ast.AsyncFor, here: Activation) -> None:
        """Into a loop over the members of collections, all of them or those that a condition picked."""
        self._members += found
        picked = selection(node.iter, here.frame, self.roles) if found else None
        for member in found:
            if picked is None:
                self._emit(Member(member, Part.ENTER), node, here)
                continue
            atom, wanted = fact_of(*picked, self.roles)
            if atom.opaque and isinstance(
                node.iter, ast.Name
            ):  # what was picked stays picked as long as the list lives
                names = self.roles.path(node.iter, here.frame)
                atom, wanted = Atom(f"{member} among {names}", frozenset({names})), True
            branch = self._emit(Branch(atom), picked[0], here)
            self._loose = [(branch, (atom, wanted))]
            self._emit(Member(member, Part.ENTER), node, here)
            inside, self._loose = self._loose, [(branch, (atom, not wanted))]
            self._emit(Member(member, Part.LEFT_OUT), node, here)
            self._loose = inside + self._loose

    def _turn(self, found: list[str], node: ast.For | ast.AsyncFor, here: Activation) -> None:
        """The turn of the member that is watched, or of another one."""
        fork, ends = self._loose, self._loose
        for part in (Part.OWN, Part.OTHER) if found else ():
            self._loose = list(fork)
            for member in found:
                self._emit(Member(member, part), node, here)
            ends = self._loose if part is Part.OWN else ends + self._loose
        self._loose = ends

    def _go_round(
        self, entry: int, head: int, turns: Edges, node: ast.For | ast.AsyncFor | ast.While, here: Activation
    ) -> Edges:
        """Lead the ends of the turns back to the head; returns those that may be the last.

        Where something in the loop asks if this is the first or the last turn, the answer is kept.
        """
        payloads = (each.payload for each in self.graph.nodes[head:])
        asked = {payload.atom for payload in payloads if isinstance(payload, Branch) and payload.atom.loop == id(node)}
        ends = self._loose = turns
        place = node.test if isinstance(node, ast.While) else node.target
        for atom in sorted(asked, key=lambda each: each.text) if turns else ():
            if atom.text in atom.mentions:  # is it the first? A switch of its own, thrown at the end of the first turn
                self.graph.nodes[entry].payload = Assign(atom.text, truth=True, in_loop=bool(self._loops[1:]))
                self._emit(Assign(atom.text, truth=False, in_loop=True), place, here)
                ends = self._loose
        for atom in sorted(asked, key=lambda each: each.text) if turns else ():
            if atom.text not in atom.mentions:
                branch = self._emit(Branch(atom), place, here)
                ends, self._loose = [(branch, (atom, True))], [(branch, (atom, False))]
        self._connect(self._loose, head)
        return ends

"""Lower assignments: which variables hold a scaled loss, and what an assignment tells about later conditions."""

from __future__ import annotations

import ast
from abc import abstractmethod

from verifygate.base.records import replace
from verifygate.static.amp.roles import Roles
from verifygate.static.amp.scale_flow import Scaling
from verifygate.static.conditions.normal_form import expand, fact_of
from verifygate.static.conditions.predicates import Atom
from verifygate.static.lowering.builder import Activation, Edges
from verifygate.static.lowering.call_events import Meaning, of_grad_assignment
from verifygate.static.lowering.event_graph import Assign, Backward, Branch, ForeignBackward, Signal, Sources
from verifygate.static.lowering.loops import LoopLowering
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, Frame


class AssignmentLowering(LoopLowering):
    """Lowers what gives a variable its value; the rest is lowered by the class that derives from it."""

    def __init__(self, root: Function, roles: Roles) -> None:
        super().__init__(root, roles)
        self.scaling = Scaling(roles)
        self._returned: dict[int, str] = {}
        """Calls that were inlined, by id -> canonical path of what they return."""

    @abstractmethod
    def _signal(self, signal: Signal | Backward | ForeignBackward, node: ast.AST, here: Activation) -> None: ...

    def _assign(
        self, target: ast.expr, value: ast.expr | None, node: ast.AST, here: Activation, *, keeps: bool = False
    ) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            for index, part in enumerate(target.elts):
                self._assign(part, value.elts[index] if same else value, node, here, keeps=keeps)  # type: ignore[union-attr]
            return
        if signal := of_grad_assignment(target, value, keeps=keeps):
            self._signal(signal, node, here)
            return
        if isinstance(target, ast.Subscript) and value is not None:
            self._put_in(target.value, value, node, here)
        if not isinstance(target, ast.Name | ast.Attribute) or not self._loose:
            return
        path = self.roles.path(target, here.frame)
        if isinstance(value, ast.Name | ast.Attribute | ast.Subscript) and self.roles.path(value, here.frame) == path:
            return  # a second name for the same object
        if value is None:
            drawn = self._assigned(path, node.iter, here) if isinstance(node, ast.For | ast.AsyncFor) else Assign(path)
            self._emit(replace(drawn, truth=None, in_loop=bool(self._loops), counts=True), node, here)
            return
        known = self._is_switch(target, value, here)
        apart = isinstance(value, ast.IfExp) and self.roles.scaler(target, here.frame) is not None
        self._give(path, value, node, here, keeps=keeps, known=known, apart=apart)

    def _give(
        self,
        path: str,
        value: ast.expr,
        node: ast.AST,
        here: Activation,
        *,
        keeps: bool = False,
        known: bool = True,
        apart: bool = False,
    ) -> None:
        """Assign a value; where one arm of `a if test else b` is scaled and the other not, each on a way of its own.

        Apart: so in any case.
        """
        if isinstance(value, ast.IfExp) and (apart or self.scaling.scaler_in(value, here.frame)):
            yes, no = self._condition(value.test, here.frame, here)
            self._loose = yes
            self._give(path, value.body, node, here, keeps=keeps)
            after, self._loose = self._loose, no
            self._give(path, value.orelse, node, here, keeps=keeps)
            self._loose = after + self._loose
        elif self._loose:
            given = self._assigned(path, value, here, keeps=keeps, known=known)
            scaler = self.scaling.scaler_in(value, here.frame) if given.scaled else None
            if scaler is None or scaler.enabled is None:
                self._emit(given, node, here)
                return
            yes, no = self._enabled(scaler.enabled, node, here)
            self._loose = yes
            if yes:
                self._emit(given, node, here)
            after, self._loose = self._loose, no
            if no:
                self._emit(replace(given, scaled=False), node, here)
            self._loose = after + self._loose

    def _enabled(self, enabled: Bound, node: ast.AST, here: Activation) -> tuple[Edges, Edges]:
        """Branch on the condition a scaler was built with. It was asked once: the answer stays, whatever it reads."""
        expr, frame = expand(enabled.expr, enabled.frame, self.roles)
        atom, wanted = fact_of(expr, frame, self.roles)
        if isinstance(expr, ast.BoolOp) or atom.opaque:
            atom, wanted = Atom(f"enabled: {atom.text}"), True
        branch = self._emit(Branch(atom), node, here)
        return [(branch, (atom, wanted))], [(branch, (atom, not wanted))]

    def _from_parts(self, meaning: Meaning, call: ast.Call, here: Activation) -> Meaning:
        """A backward on `a if test else b`, or on what functions of the project return: as if that had a name."""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if receiver is None or not isinstance(meaning.on, Backward):
            return meaning
        if isinstance(receiver, ast.IfExp) and self.scaling.scaler_in(receiver, here.frame):
            path = f"loss of line {call.lineno} in {here.frame.function.module.path}"
            self._give(path, receiver, call, here)
            return Meaning(Backward(frozenset({path})))
        roots = meaning.on.roots | self._returned_in(receiver)
        return replace(meaning, on=replace(meaning.on, roots=roots))

    def _returned_in(self, expr: ast.expr) -> frozenset[str]:
        """Canonical paths of what functions that were inlined return to an expression."""
        if not self._returned:
            return frozenset()
        return frozenset(self._returned[id(call)] for call in walk(expr) if id(call) in self._returned)

    def _put_in(self, held: ast.expr, value: ast.expr, node: ast.AST, here: Activation) -> None:
        """A scaled loss goes into a list, a set or a dict: what is drawn from that is scaled."""
        if not self._loose:
            return
        put = self._assigned(self.roles.path(held, here.frame), value, here, keeps=True)
        if put.scaled or isinstance(value, ast.Name):  # a name may have been given one before
            self._emit(replace(put, counts=False), node, here)

    def _assigned(
        self, path: str, value: ast.expr, here: Activation, *, keeps: bool = False, known: bool = True
    ) -> Assign:
        frame, returned = here.frame, self._returned_in(value)
        scaler = self.scaling.scaler_in(value, frame)
        scaled = scaler is not None and scaler.kind != "idle"
        truth = self.roles.evaluator.truth(value, frame) if known and not keeps else None
        sources = Sources(lambda: self.scaling.sources(value, frame) | returned)
        which = scaler.which if scaler is not None else ""
        return Assign(path, sources, scaled, truth, bool(self._loops), keeps, counts=keeps, which=which)

    def _is_switch(self, target: ast.expr, value: ast.expr, here: Activation) -> bool:
        """Whether what is assigned may decide later on if AMP is on, or tells what one of several optimizers did.

        Only such facts are worth a path of their own.
        """
        if self._members and isinstance(value, ast.Constant) and isinstance(value.value, bool):
            return True
        name = last_name(target).lower()
        return any(word in name for word in ("scal", "amp", "fp16", "half", "mixed", "precision")) or bool(
            self.roles.scaler(target, here.frame)
        )

    def _hand_over(self, call: ast.Call, entered: Frame, here: Activation) -> None:
        """Give a parameter the scaled loss that it is called with, where another name does not simply mean the same."""
        for name, bound in entered.arguments.items():
            scaled = self.scaling.scaler_in(bound.expr, bound.frame) is not None
            changed = "loss" in name.lower() and len(entered.function.scope.names.get(name, ())) > 1
            if scaled or changed or self._returned_in(bound.expr):
                parameter = ast.copy_location(ast.Name(name, ast.Load()), bound.expr)
                self._give(self.roles.path(parameter, entered), bound.expr, call, here)

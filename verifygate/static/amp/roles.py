"""Classify what an expression is in AMP: a scaler, an optimizer, a learning-rate schedule, an autocast region."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from verifygate import torch_names
from verifygate.base.records import record, replace
from verifygate.naming import names_a_scaler, names_a_scheduler, names_an_optimizer
from verifygate.static.amp.autograd_contexts import AutogradContexts
from verifygate.static.amp.constructor_arguments import argument, autocast_enabled, built_at, scaler_enabled
from verifygate.static.amp.gradient_flow import GradientFlows
from verifygate.static.amp.parameter_sets import ParameterSets
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.program import Class
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.uses.role_inference import RolesByUse
from verifygate.static.uses.roles import Evidence, Role
from verifygate.static.values.access_paths import AccessPath, AccessPaths, iterate_over_the_same
from verifygate.static.values.domain import (
    Bound,
    ExternalName,
    ExternalResult,
    Frame,
    Items,
    Literal,
    Object,
    Unknown,
    Value,
)
from verifygate.static.values.evaluator import Evaluator

_PURE = ast.Name | ast.Attribute | ast.Subscript
_SHARED_WORDS = frozenset(
    {"self", "parameters", "named_parameters", "module", "requires_grad", "p", "params", "list", "filter", "grad"}
)


class ScalerOrigin(NamedTuple):
    """What tells one scaler from others: its allocation site, or the parameter that it is passed by."""

    name: str
    is_parameter: bool = False
    """Two parameters may be given one object."""


class ScalerKind(StrEnum):
    LIVE = "live"
    PRESUMED = "presumed"
    """Not followed to a constructor; its use says so, or its name."""
    IDLE = "idle"
    """None, or built with `enabled=False`."""


@record
class Scaler:
    kind: ScalerKind
    enabled: Bound | None = None
    """The condition that switches it on, where there is one and it is not a constant."""
    origin: ScalerOrigin | None = None
    """Tells it from others; None where it may be several."""
    is_any: bool = False
    """It may be one of several that are built in sight: another name may mean the same."""
    evidence: Evidence = Evidence.OBJECT


@record
class Region:
    """An autocast context as written in one place."""

    active: bool
    """False for `enabled=False`: an island."""
    enabled: Bound | None = None
    made: ExternalResult | None = None
    """The call that builds the context; None where it could not be followed to one."""
    instead: tuple[ExternalResult, ...] = ()
    """Calls that build other contexts which may be entered in its place: a table of them, by precision."""
    optional: bool = False
    """Whether something that casts nothing may be entered in its place: `autocast() if amp else nullcontext()`."""

    @property
    def device(self) -> Bound | str | None:
        """The device type as written, or the one that the deprecated name stands for."""
        if self.made is None:
            return None
        return torch_names.AUTOCASTS[self.made.name] or argument(self.made, "device_type", 0)

    @property
    def dtype(self) -> Bound | None:
        """The dtype as written; None where the default of the device type is meant."""
        if self.made is None:
            return None
        return argument(self.made, "dtype", 1)

    @property
    def caches(self) -> bool:
        """Whether casts of weights are kept: all but `cache_enabled=False`."""
        if self.made is None:
            return True
        kept = argument(self.made, "cache_enabled", 3 if torch_names.AUTOCASTS[self.made.name] is None else 2)
        return not (kept and isinstance(kept.expr, ast.Constant) and kept.expr.value is False)


class Roles:
    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.paths = AccessPaths(evaluator)
        self._objects = AccessPaths(evaluator, flow_sensitive=True)
        self.parameters = ParameterSets(evaluator, self._objects)
        self.by_use = RolesByUse(evaluator)
        self.enclosing = EnclosingNodes()
        self.autograd = AutogradContexts(evaluator, self.enclosing)
        self.flows = GradientFlows(evaluator, self.parameters, self.autograd)

    def path(self, expr: ast.expr, frame: Frame) -> AccessPath:
        """The access path of an expression: the variable, or what it is the only name of."""
        return self.paths.of(expr, frame)

    def object(self, expr: ast.expr, frame: Frame) -> AccessPath:
        """The object that an expression names where it stands: also by a variable that named another one before."""
        return self._objects.of(expr, frame)

    # -- roles -------------------------------------------------------------------------------------------------

    def scaler(self, expr: ast.expr, frame: Frame) -> Scaler | None:
        """The scaler that `expr` is, or None where it is none."""
        live: Scaler | None = None
        built = set[str]()
        idle = unknown = other = annotated = False
        for value in self.evaluator.values(expr, frame):
            match value:
                case ExternalResult(name=name) if name in torch_names.GRAD_SCALERS:
                    built.add(built_at(value))
                    annotated = annotated or not value.calls
                    enabled = scaler_enabled(value)
                    if enabled is not None and self.evaluator.truth(enabled.expr, enabled.frame) is False:
                        idle = True
                    else:
                        constant = enabled is None or self.evaluator.truth(enabled.expr, enabled.frame) is True
                        live = Scaler(ScalerKind.LIVE, None if constant else enabled)
                case Object() if self.evaluator.outside_bases(value.made) & torch_names.GRAD_SCALERS:
                    live = Scaler(ScalerKind.LIVE)
                case Literal(value=None):
                    idle = True
                case Unknown() | ExternalResult(name="builtins.getattr"):
                    unknown = True
                case Object() | Items() | Literal():
                    other = True
        if live is not None and idle and self._is_of_any_state(expr, frame):
            live = replace(live, evidence=Evidence.ANNOTATION)
        elif live is not None and annotated:
            live = replace(live, evidence=self._evidence(Role.SCALER, True, expr, frame, Evidence.ANNOTATION))
        if live is not None:  # also where a class of the project's own stands in for it, for an old torch say
            if len(built) != 1 or unknown or other:
                return replace(live, is_any=True)
            site = built.pop()
            return replace(live, origin=ScalerOrigin(site) if site else self._passed_in(expr, frame))
        if other:
            return None
        named = names_a_scaler(last_name(expr))
        evidence = self._evidence(Role.SCALER, named, expr, frame) if unknown or idle else None
        if unknown and evidence is not None:
            origin = None if idle or built else self._passed_in(expr, frame)
            return Scaler(ScalerKind.PRESUMED, origin=origin, evidence=evidence)
        return Scaler(ScalerKind.IDLE) if idle and evidence is not None else None

    def _evidence(
        self, role: Role, named: bool, expr: ast.expr, frame: Frame, otherwise: Evidence = Evidence.NAME
    ) -> Evidence | None:
        """What says that an object that was not followed to its constructor has a role."""
        if self.by_use.has(role, expr, frame):
            return Evidence.USE
        return otherwise if named else None

    def _is_of_any_state(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression is a field of an object of which only the class is known: an annotation's, say.

        The class may give it a scaler or none; which of its objects this one is like, nothing tells.
        """
        while isinstance(expr, ast.Attribute):
            expr = expr.value
        function = frame.function
        is_self = function.owner is not None and function.parameters and not function.is_static
        if is_self and isinstance(expr, ast.Name) and expr.id == function.parameters[0].arg:
            return frame.receiver is not None and self._is_of_any_state(frame.receiver.expr, frame.receiver.frame)
        values = self.evaluator.values(expr, frame)
        return any(isinstance(value, Object) and value.call is None for value in values)

    def _passed_in(self, expr: ast.expr, frame: Frame) -> ScalerOrigin | None:
        """The parameter of the function itself that an expression is, of which no caller is known."""
        found = self.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        is_parameter = found is not None and len(found[0]) == 1 and found[0][0].kind == "parameter"
        if not is_parameter or frame.caller is not None:
            return None
        return ScalerOrigin(str(self.path(expr, frame)), is_parameter=True)

    def is_optimizer(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `expr` is an optimizer: by its constructor, or else by its use or its name."""
        return self.optimizer_evidence(expr, frame) is not None

    def optimizer_evidence(self, expr: ast.expr, frame: Frame) -> Evidence | None:
        """What says that `expr` is an optimizer; None where it is none."""
        name = last_name(expr)
        known = False
        for value in self.evaluator.values(expr, frame):
            match value:
                case ExternalResult(name=made):
                    if made.startswith("torch.optim.swa_utils."):
                        return None  # an averaged model
                    if made.startswith("torch.optim.") and ".lr_scheduler." not in made:
                        if value.calls:
                            return Evidence.OBJECT
                        return self._evidence(Role.OPTIMIZER, True, expr, frame, Evidence.ANNOTATION)
                    if made.startswith("torch.optim.lr_scheduler.") or "chedul" in made:
                        return None
                case Object():
                    bases = self.evaluator.outside_bases(value.made)
                    if any(base.startswith("torch.optim.") and "lr_scheduler" not in base for base in bases):
                        return Evidence.OBJECT
                    known = True
        if known:
            return None
        named = names_an_optimizer(name) or names_an_optimizer(self._collection_name(expr, frame))
        return self._evidence(Role.OPTIMIZER, named, expr, frame)

    def may_step_by_a_scaler(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an optimizer comes from where it cannot be followed to, and the program has a class for such.

        What a framework hands out for an optimizer steps by the scaler that the framework keeps to itself. A class in
        a file that no program loads together with this one makes no object that gets here.
        """
        is_unknown = any(isinstance(value, Unknown) for value in self.evaluator.values(expr, frame))
        if not is_unknown or not self.is_optimizer(expr, frame) or not self._optimizers_that_scale:
            return False
        together = self.evaluator.program.import_graph.together(frame.function.module.path)
        return any(made.module.path in together for made in self._optimizers_that_scale)

    @cached_property
    def _optimizers_that_scale(self) -> list[Class]:
        """The classes of optimizers of the project's own that hand their step on to a scaler."""
        return [
            made
            for module in self.evaluator.modules
            if module.mentions(b"caler") and module.mentions(b"Optimizer")
            for made in module.classes.values()
            if any(base.startswith("torch.optim.") for base in self.evaluator.outside_bases(made))
            if self._steps_by_a_scaler(made)
        ]

    def _steps_by_a_scaler(self, made: Class) -> bool:
        """Whether the class has a `step` of its own, which hands on to a scaler."""
        step = made.methods.get("step")
        return step is not None and any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "step"
            and self.scaler(call.func.value, self.evaluator.root_frame(step)) is not None
            for call in step.calls
        )

    def is_led_by_its_wrapper(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether a name that was an optimizer's is by now that of an object of the project's that has a scaler.

        `model, optimizer = configure(model, optimizer)`: what its `step` does is read there.
        """
        found = self.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        if found is None or len(found[0]) < 2:
            return False
        bindings, home = found
        last = reaching(expr.id, expr, frame.function) if home is frame else None  # type: ignore[attr-defined]
        return any(
            isinstance(value, Object) and any(map(self._steps_by_a_scaler, self.evaluator.linearised(value.made)))
            for binding in last or bindings
            for value in self.evaluator.given_by(binding, home)
        )

    def wraps_optimizers(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `expr` is called an optimizer and of a class of the project's own that steps one, or several."""
        return names_an_optimizer(last_name(expr)) and any(
            isinstance(value, Object)
            and {"step", "state_dict"}
            <= {name for made in self.evaluator.linearised(value.made) for name in made.methods}
            for value in self.evaluator.values(expr, frame)
        )

    def _collection_name(self, expr: ast.expr, frame: Frame) -> str:
        """The name of what a loop goes over, for its variable: `optimizers` for `o` in `for o in self.optimizers`."""
        found = self.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        if found is None or not iterate_over_the_same(found[0]) or not isinstance(found[0][0].expr, _PURE):
            return ""
        return last_name(found[0][0].expr)

    def is_scheduler(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `expr` is a learning-rate schedule: by its constructor, or else by its name."""
        for value in self.evaluator.values(expr, frame):
            if isinstance(value, ExternalResult) and value.name.startswith("torch.optim.lr_scheduler."):
                return True
            if isinstance(value, Literal | Items | Object):
                return False
        return names_a_scheduler(last_name(expr))

    def optimizer_names(self, expr: ast.expr, frame: Frame) -> frozenset[str]:
        """Names in the call that made the optimizer: the modules whose parameters it holds."""
        names: frozenset[str] = frozenset()
        for value in self.evaluator.values(expr, frame):
            if isinstance(value, ExternalResult):
                for call, _ in value.calls:
                    for argument in call.args[:1] + [word.value for word in call.keywords if word.arg == "params"]:
                        names |= identifiers(argument)
        return names

    def region(self, expr: ast.expr, frame: Frame) -> Region | None:
        """The autocast region that entering `expr` opens, or None where it opens none."""
        active: Region | None = None
        island: Region | None = None
        unknown = other = nothing = False
        for value in sorted(self.evaluator.values(expr, frame), key=_written_at):
            match value:
                case ExternalResult(name=name) if name in torch_names.AUTOCASTS:
                    enabled = autocast_enabled(value)
                    truth = self.evaluator.truth(enabled.expr, enabled.frame) if enabled else True
                    if truth is False:
                        island = Region(False, made=value)
                    else:
                        instead = (active.made, *active.instead) if active and active.made else ()
                        active = Region(True, enabled if truth is None else None, value, instead)
                case Unknown():
                    unknown = True
                case ExternalResult(name=name) if name in torch_names.NO_OP_CONTEXTS:
                    nothing = True
                case _:
                    other = True
        if active is not None:
            optional = nothing or unknown or other or island is not None
            return Region(True, active.enabled, active.made, active.instead, optional)
        if island:
            return island
        if unknown and not other and self._says_autocast(expr, frame):
            return Region(True)
        return None

    def _says_autocast(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression names autocast, or calls what was bound once to something that does."""
        written = " ".join(_words(expr))
        if "autocast" in written:
            return "fp8" not in written  # that one casts inside its own modules, and keeps its own copies
        if not (isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name)):
            return False
        bindings, _ = self.evaluator.lookup(expr.func.id, frame) or ([], frame)
        return (
            len(bindings) == 1
            and bindings[0].kind == "value"
            and bindings[0].expr is not None
            and "autocast" in ast.unparse(bindings[0].expr)
        )

    def known_name(self, expr: ast.expr, frame: Frame) -> str:
        """The outside name that `expr` surely is, or the empty string."""
        values = self.evaluator.values(expr, frame)
        names = {value.name for value in values if isinstance(value, ExternalName)}
        return names.pop() if len(names) == 1 and len(values) == 1 else ""


def _written_at(value: Value) -> tuple[int, int]:
    """A stable order of the values of one expression."""
    if isinstance(value, ExternalResult) and value.calls:
        call = value.calls[-1][0]
        return call.lineno, call.col_offset
    return 0, 0


def _words(expr: ast.AST) -> Iterator[str]:
    """The names and keys in an expression; not its texts: `self.subTest("under autocast")` enters none."""
    for node in walk(expr):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                yield name


def identifiers(expr: ast.AST) -> frozenset[str]:
    """Every name and attribute that occurs in an expression, but for the words that all of them share."""
    found = {node.id for node in walk(expr) if isinstance(node, ast.Name)}
    found |= {node.attr for node in walk(expr) if isinstance(node, ast.Attribute)}
    return frozenset(found - _SHARED_WORDS)

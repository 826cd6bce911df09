"""Which part an expression plays in AMP: a scaler, an optimizer, an autocast region; and which object it is.

An object is known by its canonical path: the name it was first given, followed through aliases, parameters and
`self`. So `opt = self.optimizer` in one method and `trainer.optimizer` outside are one object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property

from verifygate import torch_names
from verifygate.base.records import record, replace
from verifygate.naming import names_a_scaler, names_a_scheduler, names_an_optimizer
from verifygate.static.amp.constructor_arguments import argument, autocast_enabled, built_at, scaler_enabled
from verifygate.static.symbols.program import Class
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import (
    Bound,
    Frame,
    Items,
    Known,
    Literal,
    Made,
    Object,
    Unknown,
    Value,
    given_field,
)
from verifygate.static.values.evaluator import Evaluator

_PURE = ast.Name | ast.Attribute | ast.Subscript
_MAX_ALIASES = 12
_SHARED_WORDS = frozenset(
    {"self", "parameters", "named_parameters", "module", "requires_grad", "p", "params", "list", "filter", "grad"}
)


HANDED_IN = "parameter "
"""Begins what tells a scaler from others where only the name of a parameter does: two may be given one object."""


class ScalerKind(StrEnum):
    LIVE = "live"
    PRESUMED = "presumed"
    """Not followed to a constructor; its name and use say so."""
    IDLE = "idle"
    """None, or built with `enabled=False`."""


@record
class Scaler:
    kind: ScalerKind
    enabled: Bound | None = None
    """The condition that switches it on, where there is one and it is not a constant."""
    which: str = ""
    """Tells it from others: where it is built, or the parameter that hands it in; empty where it may be several."""
    is_any: bool = False
    """It may be one of several that are built in sight: another name may mean the same."""


@record
class Region:
    """An autocast context as written in one place."""

    active: bool
    """False for `enabled=False`: an island."""
    enabled: Bound | None = None
    made: Made | None = None
    """The call that builds the context; None where it could not be followed to one."""
    instead: tuple[Made, ...] = ()
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

    # -- identity ----------------------------------------------------------------------------------------------

    def path(self, expr: ast.expr, frame: Frame, aliases: int = 0) -> str:
        """The canonical path of an expression: equal for two expressions that mean the same object."""
        if aliases > _MAX_ALIASES:
            return f"{frame.function.module.path}:{ast.unparse(expr)}"
        match expr:
            case ast.Name():
                return self._name_path(expr, frame, aliases)
            case ast.Attribute():
                return self._attribute_path(expr, frame, aliases)
            case ast.Subscript(slice=ast.Constant(value=key)):
                return f"{self.path(expr.value, frame, aliases)}[{key!r}]"
            case ast.Subscript():
                return f"{self.path(expr.value, frame, aliases)}[*]"
            case ast.Call():
                given = ", ".join(self.path(argument, frame, aliases + 1) for argument in expr.args)
                return f"{self.path(expr.func, frame, aliases)}({given})"
            case ast.Constant():
                return repr(expr.value)
        return f"{frame.function.module.path}:{getattr(expr, 'lineno', 0)}:{getattr(expr, 'col_offset', 0)}"

    def _name_path(self, expr: ast.Name, frame: Frame, aliases: int) -> str:
        found = self.evaluator.lookup(expr.id, frame)
        if found is None:
            return expr.id
        bindings, home = found
        function = home.function
        own = f"{function.module.path}:{function.symbol}:{expr.id}"
        if len(bindings) != 1 and bindings[0].kind == "parameter":  # `optimizer = Wrapper(optimizer)`
            last = reaching(expr.id, expr, function)
            bindings = bindings[:1] if last == bindings[:1] else bindings
        if len(bindings) != 1 and not _go_over_the_same(bindings):
            return own
        binding = bindings[0]
        if binding.kind == "parameter":
            return self._parameter_path(binding, home, own, aliases)
        if binding.expr is None:
            return f"{function.module.path}::{binding.target}" if binding.kind in ("module", "member") else own
        if binding.kind == "value" and isinstance(binding.expr, _PURE):
            return self.path(binding.expr, home, aliases + 1)
        if binding.kind == "item":
            given = {
                self.path(value.elements[binding.position], value.frame, aliases + 1)
                for value in self.evaluator.values(binding.expr, home)
                if isinstance(value, Items) and binding.position < len(value.elements)
            } - {"None"}
            if given:
                return given.pop() if len(given) == 1 else own  # one of several: which, depends
            if isinstance(binding.expr, _PURE):
                return f"{self.path(binding.expr, home, aliases + 1)}[{binding.position}]"
        if binding.kind in ("iteration", "entry") and isinstance(binding.expr, _PURE):
            return f"{self.path(binding.expr, home, aliases + 1)}[*]"
        return own

    def _parameter_path(self, binding: Binding, home: Frame, own: str, aliases: int) -> str:
        name = binding.node.arg  # type: ignore[attr-defined]
        function = home.function
        if function.owner is not None and function.parameters[0].arg == name and not function.is_static:
            if home.receiver is not None:
                return self.path(home.receiver.expr, home.receiver.frame, aliases + 1)
            return f"<{(home.receiver_class or function.owner).symbol}>"
        if bound := home.arguments.get(name):
            if isinstance(bound.expr, _PURE | ast.Constant | ast.Call):
                return self.path(bound.expr, bound.frame, aliases + 1)
            return own
        default = function.default(name)
        if home.caller is not None and isinstance(default, ast.Constant):
            return repr(default.value)
        return own

    def _attribute_path(self, expr: ast.Attribute, frame: Frame, aliases: int) -> str:
        base = self.path(expr.value, frame, aliases)
        for value in self.evaluator.values(expr.value, frame):
            given = given_field(value, expr.attr)
            if given is not None and isinstance(given.expr, _PURE):
                return self.path(given.expr, given.frame, aliases + 1)
            if not isinstance(value, Object):
                continue
            bindings = [
                (binding, owner)
                for made in self.evaluator.linearised(value.made)
                for binding, owner in made.attributes.get(expr.attr, ())
            ]
            if len(bindings) == 1:
                binding, owner = bindings[0]
                if owner and binding.kind == "value" and binding.expr is not None and isinstance(binding.expr, _PURE):
                    home = self.evaluator.root_frame(owner)
                    if not isinstance(binding.expr, ast.Attribute) or binding.expr.attr != expr.attr:
                        return self.path(binding.expr, home, aliases + 1)
        return f"{base}.{expr.attr}"

    # -- roles -------------------------------------------------------------------------------------------------

    def scaler(self, expr: ast.expr, frame: Frame) -> Scaler | None:
        """The scaler that `expr` is, or None where it is none."""
        live: Scaler | None = None
        built = set[str]()
        idle = unknown = other = False
        for value in self.evaluator.values(expr, frame):
            match value:
                case Made(name=name) if name in torch_names.GRAD_SCALERS:
                    built.add(built_at(value))
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
                case Unknown() | Made(name="builtins.getattr"):
                    unknown = True
                case Object() | Items() | Literal():
                    other = True
        if live is not None:  # also where a class of the project's own stands in for it, for an old torch say
            if len(built) != 1 or unknown or other:
                return replace(live, is_any=True)
            return replace(live, which=built.pop() or self._handed_in(expr, frame))
        if other:
            return None
        if unknown and names_a_scaler(last_name(expr)):
            return Scaler(ScalerKind.PRESUMED, which="" if idle or built else self._handed_in(expr, frame))
        return Scaler(ScalerKind.IDLE) if idle and names_a_scaler(last_name(expr)) else None

    def _handed_in(self, expr: ast.expr, frame: Frame) -> str:
        """The parameter of the function itself that an expression is, of which no caller is known."""
        found = self.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        is_parameter = found is not None and len(found[0]) == 1 and found[0][0].kind == "parameter"
        return f"{HANDED_IN}{self.path(expr, frame)}" if is_parameter and frame.caller is None else ""

    def is_optimizer(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `expr` is an optimizer: by its constructor, or else by its name."""
        name = last_name(expr)
        known = False
        for value in self.evaluator.values(expr, frame):
            match value:
                case Made(name=made):
                    if made.startswith("torch.optim.swa_utils."):
                        return False  # an averaged model
                    if made.startswith("torch.optim.") and ".lr_scheduler." not in made:
                        return True
                    if made.startswith("torch.optim.lr_scheduler.") or "chedul" in made:
                        return False
                case Object():
                    bases = self.evaluator.outside_bases(value.made)
                    if any(base.startswith("torch.optim.") and "lr_scheduler" not in base for base in bases):
                        return True
                    known = True
        return not known and (names_an_optimizer(name) or names_an_optimizer(self._collection_name(expr, frame)))

    def may_step_by_a_scaler(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an optimizer may come from where it cannot be followed to, and the project has a class for such.

        What a framework hands out for an optimizer steps by the scaler that the framework keeps to itself.
        """
        is_unknown = any(isinstance(value, Unknown) for value in self.evaluator.values(expr, frame))
        return is_unknown and self.is_optimizer(expr, frame) and self._has_optimizers_that_scale

    @cached_property
    def _has_optimizers_that_scale(self) -> bool:
        """Whether a class of optimizers of the project's own hands its step on to a scaler."""
        return any(
            self._steps_by_a_scaler(made)
            for module in self.evaluator.modules
            if module.mentions(b"caler") and module.mentions(b"Optimizer")
            for made in module.classes.values()
            if any(base.startswith("torch.optim.") for base in self.evaluator.outside_bases(made))
        )

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
        if found is None or not _go_over_the_same(found[0]) or not isinstance(found[0][0].expr, _PURE):
            return ""
        return last_name(found[0][0].expr)

    def is_scheduler(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `expr` is a learning-rate schedule: by its constructor, or else by its name."""
        for value in self.evaluator.values(expr, frame):
            if isinstance(value, Made) and value.name.startswith("torch.optim.lr_scheduler."):
                return True
            if isinstance(value, Literal | Items | Object):
                return False
        return names_a_scheduler(last_name(expr))

    def optimizer_names(self, expr: ast.expr, frame: Frame) -> frozenset[str]:
        """Names in the call that made the optimizer: the modules whose parameters it holds."""
        names: frozenset[str] = frozenset()
        for value in self.evaluator.values(expr, frame):
            if isinstance(value, Made):
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
                case Made(name=name) if name in torch_names.AUTOCASTS:
                    enabled = autocast_enabled(value)
                    truth = self.evaluator.truth(enabled.expr, enabled.frame) if enabled else True
                    if truth is False:
                        island = Region(False, made=value)
                    else:
                        instead = (active.made, *active.instead) if active and active.made else ()
                        active = Region(True, enabled if truth is None else None, value, instead)
                case Unknown():
                    unknown = True
                case Made(name=name) if name in torch_names.NO_OP_CONTEXTS:
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
        names = {value.name for value in values if isinstance(value, Known)}
        return names.pop() if len(names) == 1 and len(values) == 1 else ""


def _written_at(value: Value) -> tuple[int, int]:
    """A stable order of the values of one expression."""
    if isinstance(value, Made) and value.calls:
        call = value.calls[-1][0]
        return call.lineno, call.col_offset
    return 0, 0


def _go_over_the_same(bindings: list[Binding]) -> bool:
    """Whether a name is only ever the variable of loops over one collection."""
    if any(each.kind not in ("iteration", "entry") for each in bindings):
        return False  # asked first: most names are no loop's, and writing expressions out as text is slow
    if len({last_name(each.expr) if each.expr is not None else "" for each in bindings}) > 1:
        return False
    return len({ast.unparse(each.expr) if each.expr is not None else "" for each in bindings}) == 1


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

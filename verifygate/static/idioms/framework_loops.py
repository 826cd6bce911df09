"""Loops that train through a framework: its backward, a plain one, steps of optimizers that are its own and others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from weakref import WeakKeyDictionary

from verifygate.base.records import record
from verifygate.framework_names import FRAMEWORKS, LIGHTNING, WRAPPERS
from verifygate.model import Severity
from verifygate.static.amp.roles import ScalerKind
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle, Precision
from verifygate.static.rule import Match
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult, Frame, Object

LOOP_WORDS = (
    *("Accelerator", "accelerator.backward(", "Fabric(", "fabric.backward(", "deepspeed.initialize"),
    *("manual_backward(", "automatic_optimization"),
)
"""What a file names that trains through a framework in a loop of its own."""
HOOK_WORDS = ("def training_step(", "def compute_loss(")
"""What a file names whose methods a framework calls in each step."""


class Does(Enum):
    """What a call does to gradients."""

    FRAMEWORK_BACKWARD = auto()
    PLAIN_BACKWARD = auto()
    STEP = auto()
    """Of an optimizer that the framework handed back."""
    RAW_STEP = auto()
    """Of an optimizer as torch built it, or of the one inside the framework's."""
    CLIP = auto()
    """By the framework."""


@record(eq=False)
class GradientCall:
    """One such call in a function."""

    does: Does
    place: Location
    subject: ast.expr
    """The loss, or the optimizer."""
    handle: Handle | None
    """The framework that the object belongs to; None for a plain backward, and a step of torch's optimizer."""
    inner: bool = False
    """Whether it steps the optimizer inside the framework's."""

    @property
    def call(self) -> ast.Call:
        return self.place.node  # type: ignore[return-value]

    @property
    def line(self) -> tuple[int, int]:
        return self.call.lineno, self.call.col_offset


_LOOPS: WeakKeyDictionary[Analysis, Sequence[tuple[Function, list[GradientCall]]]] = WeakKeyDictionary()
"""Several rules ask for the loops of one analysis."""
_CLIPS = frozenset(method for each in FRAMEWORKS for method in each.clips)


class GradientCalls:
    """Finds them in the functions of one analysis."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.frameworks = analysis.frameworks

    def loops(self) -> Sequence[tuple[Function, list[GradientCall]]]:
        """The functions that step, or go backward, through a framework or in a class that one runs."""
        if self.analysis not in _LOOPS:
            _LOOPS[self.analysis] = tuple(self._loops())
        return _LOOPS[self.analysis]

    def _loops(self) -> Iterator[tuple[Function, list[GradientCall]]]:
        for function in self.analysis.functions:
            if function.module.mentions(b"backward(", b".step("):
                found = sorted(self._of(function), key=lambda each: each.line)
                if any(each.handle is not None for each in found) or self._hosted(function) is not None:
                    yield function, found

    def _of(self, function: Function) -> Iterator[GradientCall]:
        frame = self.analysis.evaluator.root_frame(function)
        hosted = self._hosted(function)
        for call in function.calls:
            if isinstance(call.func, ast.Attribute):
                place, subject = Location(function, call), call.func.value
                if call.func.attr in ("backward", "manual_backward"):
                    yield from self._backward(place, call, subject, frame, hosted)
                elif call.func.attr == "step" and not call.args and not _is_given_a_closure(call):
                    yield from self._step(place, subject, frame, hosted)
                elif call.func.attr not in _CLIPS:
                    continue
                elif (handle := self.frameworks.handle(subject, frame)) and call.func.attr in handle.framework.clips:
                    yield GradientCall(Does.CLIP, place, subject, handle)

    def _backward(
        self, place: Location, call: ast.Call, subject: ast.expr, frame: Frame, hosted: Handle | None
    ) -> Iterator[GradientCall]:
        loss = call.args[0] if call.args else None
        if call.func.attr == "manual_backward":  # type: ignore[attr-defined]
            if loss is not None and hosted is not None:
                yield GradientCall(Does.FRAMEWORK_BACKWARD, place, loss, hosted)
            return
        handle = self.frameworks.handle(subject, frame)
        if handle is not None:
            if loss is not None:
                yield GradientCall(Does.FRAMEWORK_BACKWARD, place, loss, handle)
        elif loss is None and not self._is_of_the_project(subject, frame):
            yield GradientCall(Does.PLAIN_BACKWARD, place, subject, None)

    def _is_of_the_project(self, subject: ast.expr, frame: Frame) -> bool:
        return any(isinstance(each, Object) for each in self.frameworks.values_at(subject, frame))

    def _step(self, place: Location, subject: ast.expr, frame: Frame, hosted: Handle | None) -> Iterator[GradientCall]:
        is_inside = isinstance(subject, ast.Attribute) and subject.attr == "optimizer"
        if is_inside and (outer := self._owner(subject.value, frame, hosted)) is not None:  # type: ignore[attr-defined]
            yield GradientCall(Does.RAW_STEP, place, subject, outer, inner=True)
        elif (owner := self._owner(subject, frame, hosted)) is not None:
            yield GradientCall(Does.STEP, place, subject, owner)
        elif self.frameworks.is_raw_optimizer(subject, frame):
            yield GradientCall(Does.RAW_STEP, place, subject, None)
        elif hosted is not None and asks_for_optimizers(subject, frame.function, raw=True):
            yield GradientCall(Does.RAW_STEP, place, subject, hosted, inner=True)

    def _owner(self, subject: ast.expr, frame: Frame, hosted: Handle | None) -> Handle | None:
        """The framework that handed an optimizer back."""
        if hosted is not None and asks_for_optimizers(subject, frame.function, raw=False):
            return hosted
        wrapped = self.frameworks.wrapped(subject, frame)
        return wrapped if wrapped is not None and self._is_no_schedule(subject, frame) else None

    def _is_no_schedule(self, subject: ast.expr, frame: Frame) -> bool:
        """Whether what a framework handed back was no schedule when it was given: torch's, or the project's own."""
        roles, given = self.analysis.roles, [(subject, frame)]
        for value in self.frameworks.values_at(subject, frame):
            if isinstance(value, ExternalResult):
                given += [(call.args[0], where) for call, where in value.calls if value.name in WRAPPERS and call.args]
        return not any(
            roles.is_scheduler(expr, where)
            or (self._is_of_the_project(expr, where) and not roles.is_optimizer(expr, where))
            for expr, where in given
        )

    def _hosted(self, function: Function) -> Handle | None:
        """The framework that runs a method whose class does its own steps in it."""
        if function.owner is None or not function.module.mentions(b"Lightning", b"pl.", b"automatic_optimization"):
            return None
        if self.frameworks.host(function.owner) is not LIGHTNING or not self.frameworks.steps_itself(function.owner):
            return None
        return self.frameworks.running(function)


def asks_for_optimizers(subject: ast.expr, function: Function, *, raw: bool = False) -> bool:
    """Whether an expression is what Lightning's `self.optimizers()` returns, or one of those; `raw`: as torch built."""
    if isinstance(subject, ast.Subscript):
        return asks_for_optimizers(subject.value, function, raw=raw)
    bound = function.scope.names.get(subject.id, ()) if isinstance(subject, ast.Name) else ()
    given = [each.expr for each in bound if each.kind in ("value", "item", "iteration")]
    for expr in given if isinstance(subject, ast.Name) else [subject]:
        asked = expr.value if isinstance(expr, ast.Subscript) else expr
        if isinstance(asked, ast.Call) and ast.unparse(asked.func) == "self.optimizers":
            plain = [word.value for word in asked.keywords if word.arg == "use_pl_optimizer"] or asked.args[:1]
            is_raw = bool(plain) and isinstance(plain[0], ast.Constant) and plain[0].value is False
            return is_raw is raw
    return False


def runs_in_one_iteration(one: GradientCall, other: GradientCall, analysis: Analysis) -> bool:
    """Whether each iteration that runs one of two calls of a function may run the other."""
    function = one.place.function
    loops = [analysis.enclosing.loops(each.call, function) for each in (one, other)]
    return loops[0] == loops[1] and analysis.path_conditions.agree(one.place, other.place)


def leads_to(backward: GradientCall, step: GradientCall, analysis: Analysis) -> bool:
    """Whether a step may use what a backward left: both in one iteration, or behind a loop over micro-batches."""
    function = step.place.function
    around, its = (analysis.enclosing.loops(each.call, function) for each in (backward, step))
    inner = around[: len(around) - len(its)]
    if around[len(inner) :] != its or not (its or not inner):
        return False
    return backward.line < step.line and analysis.path_conditions.agree(backward.place, step.place)


def always_runs_beside(one: GradientCall, other: GradientCall, analysis: Analysis) -> bool:
    """Whether one of two calls runs whenever the other does: no condition is around it that is not around that one."""
    around = analysis.enclosing.conditions(other.call, other.place.function)
    return all(each in around for each in analysis.enclosing.conditions(one.call, one.place.function))


def judged(
    place: Location,
    message: str,
    handle: Handle,
    steps: tuple[tuple[Location, str], ...],
    *,
    certain: bool = True,
    remedy: str = "",
    precisions: tuple[Precision, ...] = (Precision.FLOAT16,),
) -> Match | None:
    """A match, as sure as the precision is known: none where it is one that the fault does no harm in."""
    may_be = handle.may_be(*precisions)
    if may_be is False or (may_be is None and place.function.module.file.is_test):
        return None
    unless = "" if may_be else f", where {handle.framework.name} computes in float16"
    shown = ((handle.place, f"{handle.framework.name} is given its precision"),) if handle.place else ()
    return Match(
        place,
        message + unless,
        certain=certain and handle.is_surely(*precisions),
        severity=None if may_be else Severity.LOW,
        steps=(*shown, *steps),
        remedy=remedy,
    )


def scaling_call(loss: ast.expr, function: Function, analysis: Analysis) -> ast.Call | None:
    """The call of a scaler's `scale` that a loss comes from: in place, or by a variable."""
    bound = function.scope.names.get(loss.id, ()) if isinstance(loss, ast.Name) else ()
    frame = analysis.evaluator.root_frame(function)
    for expr in (loss, *(each.expr for each in bound)):
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "scale":
            scaler = analysis.roles.scaler(expr.func.value, frame)
            is_frameworks = isinstance(expr.func.value, ast.Attribute) and (
                analysis.frameworks.handle(expr.func.value.value, frame) is not None
            )
            if scaler is not None and scaler.kind is not ScalerKind.IDLE and not is_frameworks:
                return expr
    return None


def is_scaled_by_hand(loss: ast.expr, function: Function) -> bool:
    """Whether something is called `scale` in what a loss comes from."""
    bound = function.scope.names.get(loss.id, ()) if isinstance(loss, ast.Name) else ()
    exprs = [loss, *(each.expr for each in bound if each.expr is not None)]
    return any("scale" in ast.unparse(each) for each in exprs)


def _is_given_a_closure(call: ast.Call) -> bool:
    return any(word.arg in (None, "closure") for word in call.keywords)

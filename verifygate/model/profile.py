"""What a profile of one arm holds: its memory at the peak, whether that grows, and where the time of a step goes."""

from __future__ import annotations

from typing import Literal

from verifygate.model.base import Model, Volatile


class MemoryPart(Model):
    """What one kind of tensors holds at the peak."""

    kind: Literal["parameters", "gradients", "optimizer state", "weight casts", "activations", "other"]
    """`weight casts` are autocast's low-precision copies of parameters; `activations` is what autograd saved."""
    bytes: int
    """By unique storages: views of one storage count once."""
    wide: int
    """Bytes of these that are floating-point numbers of more than two bytes."""


class Anatomy(Model):
    """The moment of a step at which most is alive."""

    peak: int
    at: str
    """The operator of aten that made it the peak."""
    phase: str
    """`the forward`, `the backward` or `the optimizer's step`."""
    parts: tuple[MemoryPart, ...]

    def bytes_of(self, kind: str) -> int:
        return next((part.bytes for part in self.parts if part.kind == kind), 0)


class Growth(Model):
    """What is alive at the end of each epoch: some steps and one evaluation."""

    steps: int
    """Steps in an epoch."""
    bytes: tuple[int, ...]
    storages: tuple[int, ...]


class HostWait(Model):
    """A call that reads a tensor on the host: on an accelerator, the host waits there."""

    path: str
    """Empty where no file of the project is among the callers."""
    line: int
    call: str
    count: float
    """In a step."""
    seconds: float
    """In a step; on a CPU this is the call itself, for there is nothing to wait for."""


class OperatorTime(Model):
    """What one operator takes by itself in a step."""

    name: str
    dtype: str
    """Of its first tensor; empty where the profiler names none."""
    calls: float
    seconds: float
    share: float
    """Of the time of all operators."""


class LineCost(Model):
    """A statement that a finding is about, and its part of a step's time."""

    path: str
    line: int
    passes: float
    """In a step."""
    shares: tuple[float, ...]
    """Of each traced step."""


class StepTime(Model):
    """One step without any instrument that slows it down."""

    seconds: float
    data: float | None
    """Seconds before a forward, since the step, a backward or an optimizer's step was done; null without a module."""
    loader: float
    """Seconds in which a torch DataLoader was waited for."""
    loads: int


class Profile(Model):
    """One arm, profiled in a process of its own."""

    arm: str
    device: str = ""
    """`cuda` or `cpu`."""
    reason: str = ""
    """Why there is no profile, in one line; everything below is empty then."""
    steps: tuple[StepTime, ...] = ()
    allocated: int | None = None
    """The allocator's peak, without what was there before the workload."""
    reserved: int | None = None
    operators: tuple[OperatorTime, ...] = ()
    busy: float | None = None
    """Part of the time in which the device computed; null on a CPU, which is its own host."""
    matrix: float | None = None
    """Part of the device's time that is matrix work."""
    anatomy: Anatomy | None = None
    flops: dict[str, float] = {}
    """Floating-point operations of a step's matrix work by dtype."""
    uncounted: dict[str, int] = {}
    """Matrix work for which torch has no formula."""
    waits: tuple[HostWait, ...] = ()
    lines: tuple[LineCost, ...] = ()
    growth: Growth | None = None

    @property
    def low_share(self) -> float | None:
        """Part of the matrix work that runs in half precision; None where none was counted."""
        whole = sum(self.flops.values())
        low = sum(flops for dtype, flops in self.flops.items() if dtype in ("float16", "bfloat16"))
        return low / whole if whole else None


class HazardAnswer(Model):
    """What the profile says of a hazard that the static stage found."""

    rule: str
    path: str
    line: int
    title: str
    answer: Volatile[Literal["confirmed", "refuted", "this machine cannot tell"] | None] = None
    why: Volatile[str | None] = None
    """The measured cost, or what would measure it."""


class CurvePoint(Model):
    """Mean over the optimizer steps up to `step` since the point before."""

    step: int
    value: float


class Curve(Model):
    """How one arm trained. Long trainings are thinned out to some hundred points."""

    arm: str
    loss: tuple[CurvePoint, ...] = ()
    accuracy: tuple[CurvePoint, ...] = ()
    """Mean score of the evaluations on the way."""
    scale: tuple[CurvePoint, ...] = ()
    """The loss scale where it changed."""
    skipped: tuple[int, ...] = ()
    """The steps that the scaler skipped."""

"""What `verifygate probe --health` and `--shadow` print: the numbers of sampled steps, and which parameters moved."""

from __future__ import annotations

from enum import StrEnum

from verifygate.model.base import Model


class HealthRow(Model):
    """A module, or a parameter, in all sampled steps together. What was not seen is null."""

    name: str
    kind: str
    """Class of the module."""
    parameter: bool
    dtype: str = ""
    """Of a module: dtype of its output. Of a parameter: dtype of its gradient."""
    activation: float | None = None
    """Largest absolute output, in any sampled step; null where it was inf or NaN, or where there was none."""
    activation_headroom: float | None = None
    """log2(65504 / `activation`), of float16 outputs."""
    gradient: float | None = None
    """Largest absolute element of the gradient, multiplied by the loss scale as the backward saw it."""
    gradient_headroom: float | None = None
    """log2(65504 / `gradient`), of float16 gradients, and of parameters of modules that compute in float16."""
    overflows: int = 0
    """Sampled steps in which the output or the gradient was inf or NaN."""
    zero: float | None = None
    """Elements of the gradient that are zero / all."""
    subnormal: float | None = None
    """Elements of the gradient with 0 < |g| < 2^-14 / all: float16 keeps fewer bits of them."""
    headrooms: tuple[tuple[int, float | None], ...] = ()
    """Step, and `gradient_headroom` in that step; null where it overflowed."""
    rooms: tuple[tuple[int, float | None], ...] = ()
    """Step, and the least headroom of output and gradient in that step; null where one of them overflowed."""


class ShadowRow(Model):
    """A module's output, or the gradient of its own parameters together, against float32."""

    name: str
    what: str
    """`output` or `gradient`."""
    error: float | None
    """||run - float32|| / ||float32||, the largest of the compared steps; null where it was not finite: of an output in
    any of them, of a gradient in all of them."""
    underflow: float | None = None
    """Of a gradient: elements that are zero in the run and not in float32 / all, over the compared steps."""
    errors: tuple[tuple[int, float | None], ...] = ()
    """Step, and `error` in that step."""
    underflows: tuple[tuple[int, float], ...] = ()
    """Step, and `underflow` in that step."""


class Movement(StrEnum):
    """Whether a parameter moved in the first steps, and why not."""

    MOVED = "moved"
    STUCK = "stands still"
    ROUNDED = "rounded away"
    """Its updates are below what its own precision can tell, for most of its elements."""
    OVERWRITTEN = "overwritten after the step"
    NOT_OPTIMIZED = "in no optimizer"
    SKIPPED = "steps skipped"
    NO_GRADIENT = "no gradient or zero"
    RATE_ZERO = "learning rate 0"
    NOT_JUDGED = "not judged"
    FROZEN = "frozen"
    FROZEN_MOVED = "moved though frozen"
    """By hand: an average of weights, a target network. Right as a rule."""


class ParameterMovement(Model):
    """One parameter in the first steps of the run."""

    name: str
    dtype: str
    movement: Movement
    unmoved: float | None = None
    """Elements that a step left bit for bit as they were / elements whose gradient was not zero at that step."""


class HealthReport(Model):
    """The numeric health of one run."""

    steps: tuple[int, ...] = ()
    """Numbers of the sampled steps, from 1."""
    scales: tuple[tuple[int, float], ...] = ()
    """Sampled step, and the loss scale in it."""
    rows: tuple[HealthRow, ...] = ()
    suitable_scale: float | None = None
    """The largest power of two at which no sampled gradient in float16 would have passed 32752, half the largest."""
    shadow: tuple[ShadowRow, ...] = ()
    shadow_steps: tuple[int, ...] = ()
    not_shadowed: tuple[str, ...] = ()
    """Why steps were not compared with float32."""
    movements: tuple[ParameterMovement, ...] = ()
    seconds: float = 0.0
    """What reading and comparing took, without what the sampled steps themselves were slower."""
    not_measured: str = ""

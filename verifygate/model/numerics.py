"""Where the numbers of a run broke: the steps that were not finite, each with the operation at which that began."""

from __future__ import annotations

from enum import StrEnum

from verifygate.model.base import Model


class Limit(StrEnum):
    """What an operation met."""

    OVERFLOW = "overflow"
    """Its result is too large for the dtype: above 65504 in float16, 3.4e38 in float32 and bfloat16."""
    ZERO_DIVISOR = "zero-divisor"
    LOG_OF_ZERO = "log-of-zero"
    NOT_A_NUMBER = "not-a-number"
    """A NaN of another kind: 0/0, inf - inf, a softmax over nothing but -inf, a root of a negative number."""
    CAME_IN = "came-in"
    """An input was inf or NaN when the step began: a batch, or a weight."""


class Origin(Model):
    """The first operation whose result was not finite, of those whose inf or NaN came to the gradients."""

    operator: str
    """Of aten, as `mm`."""
    limit: Limit
    path: str = ""
    line: int = 0
    """Of the forward, also where the operation is its gradient; 0 where no line is the project's own."""
    symbol: str = ""
    module: str = ""
    """Path of the module in the model: `encoder.layers.3`."""
    backward: str = ""
    """The node of autograd, `ExpBackward0`; empty where it is an operation of the forward."""
    dtypes: tuple[str, ...] = ()
    """Of its inputs."""
    dtype: str = ""
    """Of its result."""
    of_infinite: bool = False
    """Whether an input held an inf that was written on purpose, as a mask does."""
    largest_input: float | None = None
    """The largest finite magnitude among its inputs."""
    in_float32: float | None = None
    """The largest magnitude of the result of the same inputs in float32; None where that is not finite either."""
    scaled: bool = False
    """Whether the loss scale multiplies it."""


class BadStep(Model):
    """A step whose gradients were not finite."""

    step: int
    """The iteration, counted from 1."""
    skipped: bool
    """By the scaler."""
    scale: float | None = None
    """The loss scale of the step."""
    loss: bool = False
    """Whether the loss was inf or NaN as well. It may be so alone: the gradient of a sum does not overflow with it."""
    gradients: int = 0
    """Gradients that were inf or NaN."""
    origin: Origin | None = None
    """None where it was not seen."""
    why_not: str = ""
    """Why it was not."""
    ended: bool = False
    """Whether an error about its numbers ended the run."""

    @property
    def at_any_scale(self) -> bool | None:
        """Whether it would break with a loss scale of 1 as well; None where nobody knows."""
        origin = self.origin
        if origin is None:  # what overflows by a smaller scale does by 1
            return True if self.skipped and self.scale is not None and self.scale <= 1 else None
        if origin.limit is not Limit.OVERFLOW or not origin.scaled:
            return True
        if origin.in_float32 is None or not self.scale:
            return None
        return origin.in_float32 / self.scale > LARGEST.get(origin.dtype, LARGEST["float32"])


class Swallowed(Model):
    """An inf of finite numbers that ended as a finite number, which is not the one that float32 gives."""

    steps: tuple[int, ...]
    """The iterations in which that was seen."""
    origin: Origin
    ended: str
    """The operator that made a number of it: `rsqrt`."""
    lost: float
    """The share of that operator's result which float32 would give otherwise."""


class UnmovedAverage(Model):
    """A tensor in half precision whose updates in place are rounded away."""

    path: str
    line: int
    """Where it is written; empty and 0 where no line is the project's own."""
    dtype: str
    shape: tuple[int, ...]
    lost: float
    """The share of the elements that float32 would move, and that stayed."""


class Doubt(StrEnum):
    """What a step showed that neither its loss nor its gradients do."""

    STATISTICS_OVERFLOW = "statistics-overflow"
    """A running variance or mean is too large for its dtype."""
    STATISTICS_STUCK = "statistics-stuck"
    """Running statistics stay away from those of the batch: rounding takes their updates."""
    RATIO_OF_ROUNDED = "ratio-of-rounded"
    """A ratio of probabilities, of log-probabilities that were rounded to half precision."""
    RATIO_OF_TWO_PRECISIONS = "ratio-of-two-precisions"
    """The same where one side alone was rounded: a rollout in another precision than the training."""
    PAST_THE_WRAPPER = "past-the-wrapper"
    """A method of a model whose wrapped forward alone enters autocast."""


class Doubtful(Model):
    """One of these, at its line."""

    kind: Doubt
    steps: tuple[int, ...]
    """The iterations in which that was seen."""
    path: str = ""
    line: int = 0
    operator: str = ""
    module: str = ""
    """The statistics, as `norm.running_var`; the type of the module that was called."""
    dtype: str = ""
    figure: float = 0.0
    """What float32 holds; the share of the channels; the distance of two neighbouring log-probabilities."""


LARGEST = {"float16": 65504.0, "bfloat16": 3.38953139e38, "float32": 3.40282347e38}
"""The largest finite number of each dtype."""


class NumericsReport(Model):
    """What the watch over a run's numbers saw."""

    watched: int
    """Iterations of which every operation was seen."""
    asked: bool = True
    """Whether somebody asked to watch the first ones."""
    iterations: int = 0
    """Of the training: optimizers that step in turn count once."""
    losses: int = 0
    """Backwards whose loss was looked at."""
    bad_losses: int = 0
    """Those of them whose loss was inf or NaN, and not by its scale."""
    first_bad_loss: int = 0
    """The iteration of the first one; 0 for none."""
    ends_bad: bool = False
    """Whether the loss of the last backward was inf or NaN."""
    bad: int = 0
    """Steps that were not finite; those behind the first twenty are counted only."""
    bad_steps: tuple[BadStep, ...] = ()
    unexplained: int = 0
    """Steps that the scaler skipped, and no cause was found: neither an operation nor the search for its scale."""
    first_unexplained: int = 0
    """The first of them, steps of all optimizers counted; 0 for none."""
    swallowed: tuple[Swallowed, ...] = ()
    unmoved: tuple[UnmovedAverage, ...] = ()
    doubtful: tuple[Doubtful, ...] = ()
    not_watched: str = ""
    """Why no step was watched, where one should have been."""

    @property
    def is_told(self) -> bool:
        """Whether there is anything to say: something broke, or somebody asked."""
        broke = self.bad_steps or self.swallowed or self.unmoved or self.doubtful or self.bad_losses
        return bool(broke or self.not_watched or (self.asked and self.watched))

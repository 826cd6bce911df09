"""What the recorder saw of a run: counts, the scale's history, the share of work in low precision."""

from __future__ import annotations

from verifygate.base.counts import counted
from verifygate.model.base import Model


class Visit(Model):
    """A line of the project at which the protocol's event happened under a live scaler, and how often."""

    path: str
    line: int
    event: str
    """The protocol's name of it, for example `clip`."""
    times: int


class ScaleChange(Model):
    """The loss scale that a scaler was made with, or has after an `update()` that changed it."""

    scaler: int
    """Scalers are numbered in the order in which they were made."""
    step: int
    scale: float


class Island(Model):
    """Matrix work in float32 in the forward pass of the sampled steps."""

    path: str
    line: int
    operator: str
    autocast: bool
    """Whether autocast was on there; where it is, something keeps it from acting."""
    count: int
    flops: int


class LowPrecision(Model):
    """A sample of whole steps in which every operation was seen."""

    steps: int
    operations: int
    """Matrix multiplications, convolutions, attentions, forward and backward."""
    low_operations: int
    """Those of them whose input was float16 or bfloat16."""
    flops: int
    low_flops: int
    uncounted: tuple[str, ...] = ()
    """Operators without a formula for their floating-point operations: in the counts, not in the FLOPs."""
    casts_per_step: float = 0.0
    """Casts between float32 and a half type."""
    islands: tuple[Island, ...] = ()

    @property
    def share(self) -> float | None:
        """Share of the floating-point operations of matrix work that ran in half; None where there were none."""
        return self.low_flops / self.flops if self.flops else None


class EntryPrecision(Model):
    """How much of the work of one entry of the oracles, run as it is, was in half precision."""

    entry: int
    """Counted from 1, as in the checks."""
    emulated: bool
    low_precision: LowPrecision | None
    not_sampled: str = ""
    """Why there is no sample, where there is none."""


class StepOrder(Model):
    """The order of events from the first forward to the `update()` after the step; windows that agree are one."""

    events: tuple[str, ...]
    """`autocast` (a region was entered since the last backward), `scale`, `backward`, `unscale`, `clip`, `step` (the
    scaler's), `optimizer-step`, `update`; what repeats, once."""
    times: int
    path: str
    line: int
    """Where the step was taken, the first time."""


class OwnEvents(Model):
    """What audited code did; what only a test did is left out."""

    counts: tuple[tuple[str, int], ...] = ()
    """Events by what they are."""
    regions: tuple[str, ...] = ()
    """What its autocast regions were: `cpu float16`."""
    not_float32: tuple[str, ...] = ()
    """Parameters of the optimizers that it made that are no float32."""
    orders: tuple[StepOrder, ...] = ()
    """Every order in which it took a step."""


class RankSummary(Model):
    """What one rank of several did: a process of its own."""

    test: str = ""
    """The test that started it; empty in a probe."""
    rank: int
    world: int
    """How many ranks there were."""
    steps: int
    skipped: int
    scale_last: float | None = None
    norm_last: float | None = None
    """The last norm that it clipped by."""


class WeightUpdates(Model):
    """What sampled steps did to the weights in half precision of one parameter group."""

    optimizer: str
    group: int
    """Counted from 0."""
    dtype: str
    tensors: int
    steps: int
    """Sampled steps, of all optimizers of this kind together."""
    reached: int
    """Sampled elements with a gradient that is not zero, over all these steps."""
    unchanged: int
    """Those of them that a step left bit for bit as they were."""
    movable: int | None = None
    """Those that the same step would have moved in float32; None where that is not known."""
    lost: int | None = None
    """Those of these that stayed."""

    @property
    def lost_share(self) -> float | None:
        """The share of updates that rounding took away; None where it is not known."""
        return self.lost / self.movable if self.movable and self.lost is not None else None

    @property
    def in_words(self) -> str:
        """One line for a person."""
        head = f"{self.optimizer}, parameter group {self.group}, {self.dtype}, {counted(self.steps, 'sampled step')}"
        if not self.reached:
            return f"{head}: no gradient"
        stayed = f"{head}: {self.unchanged / self.reached:.1%} of the elements with a gradient stayed as they were"
        if self.movable is None:
            return f"{stayed}; what float32 would have moved is not known of this optimizer"
        moved = f"{stayed}, float32 would have moved {self.movable / self.reached:.1%}"
        return moved if self.lost_share is None else f"{moved}: {self.lost_share:.1%} of the updates were lost"


class TraceSummary(Model):
    """One recorded run, in numbers."""

    events: int = 0
    dropped: int = 0
    """Events that were not kept: the record is bounded."""
    counts: tuple[tuple[str, int], ...] = ()
    """Events by what they are."""
    devices: tuple[str, ...] = ()
    """What the autocast regions were: `cpu float16`."""
    optimizers: tuple[str, ...] = ()
    steps: int = 0
    """Optimizer steps that were asked for, by the scaler or directly."""
    skipped: int = 0
    """Those that the scaler left out, for an inf or NaN."""
    unknown: int = 0
    """Those of which it is not known: a fused optimizer on a device that somebody would have to wait for."""
    scale_min: float | None = None
    scale_max: float | None = None
    scale_last: float | None = None
    scales: tuple[ScaleChange, ...] = ()
    low_precision: LowPrecision | None = None
    not_sampled: str = ""
    """Why there is no low-precision share, where there is none."""
    not_float32: tuple[str, ...] = ()
    """Parameters of optimizers that are no float32: `SGD: 4 of 4 tensors float16`."""
    updates: tuple[WeightUpdates, ...] = ()
    """What steps did to weights in half precision; float32 weights lose nothing, and have no row."""
    remarks: tuple[str, ...] = ()
    """What a person should know and no rule is about."""
    visits: tuple[Visit, ...] = ()
    own: OwnEvents | None = None
    ranks: tuple[RankSummary, ...] = ()
    """The ranks that trained together, where the run had some; all of their events are counted above."""
    problems: tuple[str, ...] = ()
    """What went wrong with the recorder itself."""

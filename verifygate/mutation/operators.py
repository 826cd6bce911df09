"""The ways to break AMP code. Each is one thing that people do, and names the rule that it violates."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verifygate.mutation import gradient_moves as gradients
from verifygate.mutation import regions
from verifygate.mutation import scaler_moves as scalers
from verifygate.mutation.editable_source import Edit
from verifygate.mutation.site import Site
from verifygate.protocol import Violation

__all__ = ["OPERATORS", "Operator", "Site"]

Applied = Iterable[tuple[ast.stmt | ast.expr, list[Edit]]]


@dataclass(frozen=True)
class Operator:
    """One way to break AMP code."""

    name: str
    rule: Violation
    """What it breaks."""
    title: str
    apply: Callable[[Site], Applied]
    """Every way to do it in a file: the node it is about, and the edits."""


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "drop-unscale", Violation.CLIP_BEFORE_UNSCALE, "leave `unscale_` out before the clip", gradients.drop_unscale
    ),
    Operator(
        "clip-then-unscale", Violation.CLIP_BEFORE_UNSCALE, "clip first, unscale then", gradients.clip_then_unscale
    ),
    Operator(
        "nan-to-num", Violation.CLIP_BEFORE_UNSCALE, "take inf and NaN out of scaled gradients", gradients.nan_to_num
    ),
    Operator("value-clip", Violation.CLIP_BEFORE_UNSCALE, "clamp scaled gradients", gradients.value_clip),
    Operator("double-unscale", Violation.UNSCALE_TWICE, "unscale twice", gradients.double_unscale),
    Operator(
        "unscale-per-backward",
        Violation.UNSCALE_MID_ACCUMULATION,
        "unscale after every backward",
        gradients.unscale_per_backward,
    ),
    Operator(
        "log-scaled-loss",
        Violation.SCALED_GRADIENT_READ,
        "go on with the scaled loss as the loss",
        scalers.keep_scaled_loss,
    ),
    Operator("unscaled-backward", Violation.UNSCALED_BACKWARD, "do not scale the loss", scalers.unscaled_backward),
    Operator(
        "drop-scale-result",
        Violation.UNSCALED_BACKWARD,
        "scale the loss and drop the result",
        scalers.drop_scale_result,
    ),
    Operator("direct-step", Violation.STEP_BYPASSES_SCALER, "step the optimizer past the scaler", scalers.direct_step),
    Operator("double-step", Violation.DOUBLE_STEP, "step the optimizer once more", scalers.double_step),
    Operator("drop-update", Violation.MISSING_UPDATE, "leave `update` out", scalers.drop_update),
    Operator("update-before-step", Violation.MISPLACED_UPDATE, "update before the step", scalers.update_before_step),
    Operator(
        "update-per-backward", Violation.MISPLACED_UPDATE, "update after every backward", scalers.update_per_backward
    ),
    Operator("clip-after-step", Violation.CLIP_AFTER_STEP, "clip after the step", gradients.clip_after_step),
    Operator("drop-zero-grad", Violation.ZERO_GRAD_MISPLACED, "never zero the gradients", gradients.drop_zero_grad),
    Operator(
        "zero-before-step", Violation.ZERO_GRAD_MISPLACED, "zero between backward and step", gradients.zero_before_step
    ),
    Operator(
        "schedule-on-skip",
        Violation.SCHEDULER_IGNORES_SKIP,
        "move the schedule on skipped steps",
        scalers.schedule_on_skip,
    ),
    Operator(
        "schedule-first",
        Violation.SCHEDULER_IGNORES_SKIP,
        "step the scheduler before the optimizer",
        scalers.schedule_first,
    ),
    Operator(
        "skip-by-hand",
        Violation.SKIP_GUARD_BREAKS_SCALER,
        "leave the window on NaN without `update`",
        scalers.skip_by_hand,
    ),
    Operator("closure", Violation.CLOSURE_WITH_SCALER, "hand a closure to the scaler's step", scalers.closure),
    Operator(
        "clip-nothing",
        Violation.CLIP_OVER_EXHAUSTED_ITERATOR,
        "clip parameters that were consumed before",
        gradients.clip_nothing,
    ),
    Operator("scaler-per-window", Violation.SCALER_RECREATED, "build the scaler anew in the loop", scalers.rebuilt),
    Operator(
        "scaler-not-saved",
        Violation.SCALER_NOT_CHECKPOINTED,
        "leave the scaler out of the checkpoint",
        scalers.not_saved,
    ),
    Operator(
        "scaler-not-loaded", Violation.SCALER_NOT_CHECKPOINTED, "do not load the scaler's state", scalers.not_loaded
    ),
    Operator("scaler-off", Violation.ENABLED_MISMATCH, "switch the scaler off, and autocast not", scalers.switched_off),
    Operator(
        "scaler-always-on",
        Violation.ENABLED_MISMATCH,
        "switch the scaler on, whatever autocast does",
        scalers.always_on,
    ),
    Operator(
        "scaler-from-position",
        Violation.SCALER_MISCONSTRUCTED,
        "give the scale where the device is expected",
        scalers.mispositioned,
    ),
    Operator(
        "autocast-off", Violation.ENABLED_MISMATCH, "switch autocast off, and the scaler not", regions.switched_off
    ),
    Operator(
        "backward-in-autocast",
        Violation.BACKWARD_IN_AUTOCAST,
        "run the backward inside the region",
        regions.backward_inside,
    ),
    Operator(
        "step-in-autocast", Violation.STEP_IN_AUTOCAST, "run the step inside an autocast region", regions.step_inside
    ),
    Operator(
        "autocast-not-entered",
        Violation.AUTOCAST_NOT_ENTERED,
        "build the context and do not enter it",
        regions.not_entered,
    ),
    Operator(
        "autocast-around-loop",
        Violation.AUTOCAST_STALE_WEIGHTS,
        "put one region around the whole loop",
        regions.around_loop,
    ),
    Operator("wrong-device", Violation.AUTOCAST_DEVICE_MISMATCH, "name another device type", regions.wrong_device),
    Operator(
        "loss-outside", Violation.LOSS_OUTSIDE_AUTOCAST, "compute the loss outside of the region", regions.loss_outside
    ),
    Operator("half-model", Violation.HALF_PARAMETERS_WITH_SCALER, "make the model float16", regions.half_model),
    Operator(
        "half-inputs", Violation.HALF_CAST_IN_AUTOCAST, "cast what the model gets to half by hand", regions.half_inputs
    ),
    Operator("other-dtype", Violation.BF16_WITH_SCALER, "swap float16 and bfloat16", regions.other_dtype),
)

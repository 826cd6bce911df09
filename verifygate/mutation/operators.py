"""The ways to break AMP code. Each is one thing that people do, and has the code of the rule that it breaks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verifygate.mutation import gradients, regions, scalers
from verifygate.mutation.code import Edit
from verifygate.mutation.site import Site

__all__ = ["OPERATORS", "Operator", "Site"]

Applied = Iterable[tuple[ast.stmt | ast.expr, list[Edit]]]


@dataclass(frozen=True)
class Operator:
    """One way to break AMP code."""

    name: str
    rule: str
    """What it breaks."""
    title: str
    apply: Callable[[Site], Applied]
    """Every way to do it in a file: the node it is about, and the edits."""


OPERATORS: tuple[Operator, ...] = (
    Operator("drop-unscale", "AMP201", "leave `unscale_` out before the clip", gradients.drop_unscale),
    Operator("clip-then-unscale", "AMP201", "clip first, unscale then", gradients.clip_then_unscale),
    Operator("nan-to-num", "AMP201", "take inf and NaN out of scaled gradients", gradients.nan_to_num),
    Operator("value-clip", "AMP201", "clamp scaled gradients", gradients.value_clip),
    Operator("double-unscale", "AMP202", "unscale twice", gradients.double_unscale),
    Operator("unscale-per-backward", "AMP203", "unscale after every backward", gradients.unscale_per_backward),
    Operator("log-scaled-loss", "AMP204", "go on with the scaled loss as the loss", scalers.keep_scaled_loss),
    Operator("unscaled-backward", "AMP206", "do not scale the loss", scalers.unscaled_backward),
    Operator("drop-scale-result", "AMP206", "scale the loss and drop the result", scalers.drop_scale_result),
    Operator("direct-step", "AMP207", "step the optimizer past the scaler", scalers.direct_step),
    Operator("double-step", "AMP208", "step the optimizer once more", scalers.double_step),
    Operator("drop-update", "AMP209", "leave `update` out", scalers.drop_update),
    Operator("update-before-step", "AMP210", "update before the step", scalers.update_before_step),
    Operator("update-per-backward", "AMP210", "update after every backward", scalers.update_per_backward),
    Operator("clip-after-step", "AMP211", "clip after the step", gradients.clip_after_step),
    Operator("drop-zero-grad", "AMP212", "never zero the gradients", gradients.drop_zero_grad),
    Operator("zero-before-step", "AMP212", "zero between backward and step", gradients.zero_before_step),
    Operator("schedule-on-skip", "AMP213", "move the schedule on skipped steps", scalers.schedule_on_skip),
    Operator("schedule-first", "AMP213", "step the scheduler before the optimizer", scalers.schedule_first),
    Operator("skip-by-hand", "AMP214", "leave the window on NaN without `update`", scalers.skip_by_hand),
    Operator("closure", "AMP215", "hand a closure to the scaler's step", scalers.closure),
    Operator("clip-nothing", "AMP219", "clip parameters that were consumed before", gradients.clip_nothing),
    Operator("scaler-per-window", "AMP301", "build the scaler anew in the loop", scalers.rebuilt),
    Operator("scaler-not-saved", "AMP302", "leave the scaler out of the checkpoint", scalers.not_saved),
    Operator("scaler-not-loaded", "AMP302", "do not load the scaler's state", scalers.not_loaded),
    Operator("scaler-off", "AMP303", "switch the scaler off, and autocast not", scalers.switched_off),
    Operator("scaler-always-on", "AMP303", "switch the scaler on, whatever autocast does", scalers.always_on),
    Operator("scaler-from-position", "AMP306", "give the scale where the device is expected", scalers.mispositioned),
    Operator("autocast-off", "AMP303", "switch autocast off, and the scaler not", regions.switched_off),
    Operator("backward-in-autocast", "AMP101", "run the backward inside the region", regions.backward_inside),
    Operator("step-in-autocast", "AMP102", "run the step inside an autocast region", regions.step_inside),
    Operator("autocast-not-entered", "AMP103", "build the context and do not enter it", regions.not_entered),
    Operator("autocast-around-loop", "AMP104", "put one region around the whole loop", regions.around_loop),
    Operator("wrong-device", "AMP105", "name another device type", regions.wrong_device),
    Operator("loss-outside", "AMP110", "compute the loss outside of the region", regions.loss_outside),
    Operator("half-model", "AMP401", "make the model float16", regions.half_model),
    Operator("half-inputs", "AMP405", "cast what the model gets to half by hand", regions.half_inputs),
    Operator("other-dtype", "AMP304", "swap float16 and bfloat16", regions.other_dtype),
)

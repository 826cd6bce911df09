"""Rules that a recorded run can show to be violated: the severity, message and remedy of a finding of each.

The stages import nothing of each other, so the severities of the static rules are repeated here; a test compares them.
A violation of a rule that has no row here is never reported from a run: the static rules and the oracles report it.
"""

from __future__ import annotations

from dataclasses import dataclass

from verifygate.execution.observed_violation import Form
from verifygate.model import Severity
from verifygate.protocol import Violation


@dataclass(frozen=True, slots=True)
class RunRule:
    """How a finding of this rule reads when a run saw it."""

    severity: Severity
    message: str
    """`{text}` is the source line."""
    remedy: str


_C, _H, _M, _L = Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW

RULES: dict[Violation, RunRule] = {
    Violation.BACKWARD_IN_AUTOCAST: RunRule(
        _M,
        "`{text}` ran inside an autocast region",
        "end the autocast region after the loss, before backward()",
    ),
    Violation.STEP_IN_AUTOCAST: RunRule(
        _M,
        "`{text}` ran inside an autocast region",
        "end the autocast region after the loss, before backward() and the step",
    ),
    Violation.AUTOCAST_STALE_WEIGHTS: RunRule(
        _C,
        "this region stayed open over several optimizer steps: every forward in it used the weights of the first",
        "enter the region anew for each forward: end it before the weights change",
    ),
    Violation.AUTOCAST_DEVICE_MISMATCH: RunRule(
        _H,
        "this region is for another type of device than the tensors that went through it: it changed nothing",
        "name the device the tensors are on: `torch.autocast(device.type, ...)`",
    ),
    Violation.AUTOCAST_LOST_IN_THREADS: RunRule(
        _M,
        "`{text}` handed a forward to another thread, where this region does not reach: it ran in float32",
        "enter a region in the function that the thread runs",
    ),
    Violation.LOSS_OUTSIDE_AUTOCAST: RunRule(
        _M,
        "the loss of `{text}` was computed in float16, behind the region that gave the outputs",
        "compute the loss inside the region, or cast the outputs with `.float()`",
    ),
    Violation.CLIP_BEFORE_UNSCALE: RunRule(
        _C,
        "`{text}` clipped or bounded gradients that were still multiplied by the loss scale",
        "call `scaler.unscale_(optimizer)` between backward() and the clip",
    ),
    Violation.UNSCALE_TWICE: RunRule(
        _H,
        "`{text}` divided gradients that were unscaled already",
        "call `unscale_` once per optimizer and window, right before gradients are touched",
    ),
    Violation.UNSCALE_MID_ACCUMULATION: RunRule(
        _C,
        "`{text}` came before the last backward of its window: scaled and unscaled gradients were mixed",
        "call `unscale_` once, after the last backward of the window",
    ),
    Violation.SCALED_GRADIENT_READ: RunRule(
        _M,
        "`{text}` read a loss that was still multiplied by the loss scale",
        "read the loss before `scaler.scale(loss)`, and return that one",
    ),
    Violation.GRADIENT_PENALTY_UNSCALED: RunRule(
        _H,
        "`{text}` differentiates unscaled in float16, or the loss that it helps to build depends on the loss scale",
        "scale what `autograd.grad` differentiates, and divide its result by the scale",
    ),
    Violation.UNSCALED_BACKWARD: RunRule(
        _C,
        "`{text}` made gradients without the scale, and the scaler divided them by it",
        "back-propagate `scaler.scale(loss)`",
    ),
    Violation.STEP_BYPASSES_SCALER: RunRule(
        _C,
        "`{text}` stepped on gradients that a live scaler had scaled",
        "call `scaler.step(optimizer)` in place of `optimizer.step()`",
    ),
    Violation.DOUBLE_STEP: RunRule(
        _C,
        "`{text}` stepped a second time on the gradients of one window",
        "step once per window: `scaler.step(optimizer)` calls the optimizer's step itself",
    ),
    Violation.MISSING_UPDATE: RunRule(
        _H,
        "no `update()` followed `{text}`",
        "call `scaler.update()` once per window, after the steps of all optimizers",
    ),
    Violation.MISPLACED_UPDATE: RunRule(
        _H,
        "`{text}` came between a backward and the step that used its gradients, or with nothing to judge by",
        "call `scaler.update()` once per window, after the steps of all optimizers",
    ),
    Violation.CLIP_AFTER_STEP: RunRule(
        _H,
        "`{text}` clipped gradients that a step had used already: no effect",
        "clip between `scaler.unscale_(optimizer)` and `scaler.step(optimizer)`",
    ),
    Violation.ZERO_GRAD_MISPLACED: RunRule(
        _H,
        "at `{text}` gradients were not zeroed between a step and the next backward, or before a step had used them",
        "zero the gradients once per window, after `scaler.update()` or before the first backward",
    ),
    Violation.SCHEDULER_IGNORES_SKIP: RunRule(
        _L,
        "`{text}` advanced the schedule for a step that the scaler skipped",
        "advance the schedule only where the scale did not fall across `scaler.update()`",
    ),
    Violation.SKIP_GUARD_BREAKS_SCALER: RunRule(
        _H,
        "the window that `{text}` opened was never closed by `update()`: the next one began with its state",
        "leave the check to `scaler.step`, or call `scaler.update()` on the way out too",
    ),
    Violation.CLOSURE_WITH_SCALER: RunRule(
        _H,
        "`{text}` gave a closure to the scaler's step",
        "compute the loss before the step; optimizers that need a closure cannot be used with a GradScaler",
    ),
    Violation.STEP_WRONG_OBJECT: RunRule(
        _H,
        "`{text}` gave the scaler something that is no optimizer",
        "give `scaler.step` the optimizer itself",
    ),
    Violation.CLIP_OVER_EXHAUSTED_ITERATOR: RunRule(
        _H,
        "`{text}` clipped nothing: its parameters had been consumed",
        "give the clip a list, or call `parameters()` anew each time",
    ),
    Violation.SCALER_RECREATED: RunRule(
        _H,
        "`{text}` made a new scaler for an optimizer that another one had stepped: the learned scale was lost",
        "build the scaler once, where the optimizer is built, and pass it on",
    ),
    Violation.SCALER_NOT_CHECKPOINTED: RunRule(
        _M,
        "`{text}` saved the optimizer's state; the scaler's was never saved in this run",
        "save `scaler.state_dict()` beside the optimizer's, and load it on resuming",
    ),
    Violation.ENABLED_MISMATCH: RunRule(
        _H,
        "the scaler of `{text}` was on and no autocast region was, or the other way round",
        "give `enabled=` of both the same variable",
    ),
    Violation.BF16_WITH_SCALER: RunRule(
        _L,
        "`{text}` scaled the loss of a bfloat16 region, which needs no scale",
        "enable the scaler for float16 only",
    ),
    Violation.FP16_WITHOUT_SCALER: RunRule(
        _H,
        "`{text}`: training ran in float16 here, and no scaler scaled its loss",
        "scale the loss with a `torch.amp.GradScaler`, or compute in bfloat16",
    ),
    Violation.SCALER_MISCONSTRUCTED: RunRule(
        _M,
        "`{text}` made a scaler that did not do what was asked for",
        "give the type of the device that trains, by its name: `torch.amp.GradScaler(device.type, enabled=...)`",
    ),
    Violation.EPSILON_UNDERFLOW: RunRule(
        _M,
        "`{text}` made float16 weights inf or NaN, and the eps of the optimizer is zero in float16",
        "keep the weights in float32 and compute under autocast, or use an eps above 6e-8",
    ),
    Violation.MASK_OVERFLOW: RunRule(
        _H,
        "a constant of `{text}` is beyond 65504, the largest float16: it raised, or became inf",
        "use `torch.finfo(x.dtype).min`, or compute in float32",
    ),
    Violation.UNSAFE_LOSS: RunRule(
        _H,
        "`{text}` computed binary cross entropy under CUDA autocast, which refuses it",
        "use `binary_cross_entropy_with_logits` on the outputs before the sigmoid",
    ),
    Violation.SHARDED_NEEDS_SHARDED_SCALER: RunRule(
        _H,
        "the scaler of `{text}` skipped a step in one rank while another rank took it: the shards drift apart",
        "use `torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler`, which asks all ranks",
    ),
    Violation.NO_SYNC_INVERTED: RunRule(
        _M,
        "`{text}` stepped on gradients of this rank alone: the forward went past DistributedDataParallel",
        "call the wrapper itself: `model(inputs)`; `.module` is for state_dict and for evaluation",
    ),
    Violation.HALF_PARAMETERS_WITH_SCALER: RunRule(
        _C,
        "`{text}` was given parameters in float16, whose gradients cannot be unscaled",
        "leave the parameters in float32: autocast casts what it needs",
    ),
    Violation.LOW_PRECISION_WEIGHTS: RunRule(
        _H,
        "`{text}` left most of its weights in half precision as they were: rounding took the updates away",
        "keep the weights in float32 and compute under autocast, or use an optimizer that rounds stochastically",
    ),
    Violation.POLICY_OVER_HALF_WEIGHTS: RunRule(
        _H,
        "`{text}` sharded weights that were half already: its policy had no float32 master weights to cast",
        "shard the model with its weights in float32: the policy casts what it computes with",
    ),
    Violation.HALF_REDUCTION: RunRule(
        _L,
        "ranks added up the gradients of what `{text}` shards in half precision",
        "reduce in float32: `reduce_dtype=torch.float32`",
    ),
}

FORMS: dict[Form, RunRule] = {
    Form.HIDDEN_OVERFLOW: RunRule(
        _C,
        "`{text}` took an inf out of scaled gradients: the scaler found none, and its scale never falls",
        "leave the inf to `scaler.step`, which skips the step, and to `update()`, which lowers the scale",
    ),
    Form.UNSCALED_SUM: RunRule(
        _M,
        "`{text}` added something without the loss scale to gradients that have it: the scaler divides it away",
        "call `scaler.unscale_(optimizer)` between backward() and what is added",
    ),
    Form.OTHER_SCALER: RunRule(
        _H,
        "`{text}` divided by its scale what another scaler had multiplied by its own",
        "let the scaler that scaled the loss unscale and step: one scaler for all optimizers is enough",
    ),
    Form.ENDED_RUN: RunRule(
        _H,
        "`{text}` ended the run at an overflow, as the scaler meets them while it looks for its scale",
        "leave the inf to `scaler.step`, which skips the step, and to `update()`, which lowers the scale",
    ),
    Form.REFUSED_BACKWARD: RunRule(
        _H,
        "`{text}` would have made gradients without the scale, and the framework that scales the loss refused it",
        "call the framework's backward: `fabric.backward(loss)`",
    ),
    Form.BFLOAT16_GRADIENTS: RunRule(
        _C,
        "`{text}` was given gradients in bfloat16, which no CUDA device can unscale",
        "leave the parameters in float32, or train without a scaler: bfloat16 has float32's range",
    ),
    Form.SHARD_NORM: RunRule(
        _H,
        "`{text}` clipped by the norm of each rank's own shard: the ranks divided by different numbers",
        "clip with the model's own `clip_grad_norm_`, which asks all ranks",
    ),
    Form.ZERO_DIVISION: RunRule(
        _H,
        "`{text}` made float16 weights inf or NaN out of finite gradients: the eps of the optimizer is zero in float16",
        "keep the weights in float32 and compute under autocast, or use an eps above 6e-8",
    ),
    Form.NONFINITE_STEP: RunRule(
        _H,
        "`{text}` stepped float16 weights on gradients that were inf or NaN: no scaler was there to skip the step",
        "keep the weights in float32, compute under autocast, and step by a `torch.amp.GradScaler`",
    ),
    Form.DEVICE_OF_A_TEST: RunRule(
        _L,
        "this region is for another type of device than the tensors of the test: it changed nothing there",
        "let a test put the model where the region works: with CUDA emulated, `cuda` is there; where the loop is to "
        "train on other devices too, name the device its tensors are on",
    ),
    Form.LOST_REGION: RunRule(
        _H,
        "from `{text}` on the steps of this scaler had no autocast region: training went on in float32",
        "enter the region for each forward; what unwraps a model may take its autocast off for good",
    ),
}
"""In the place of what stands above, for one form of a rule's violation."""

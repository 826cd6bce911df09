"""The rules that a recorded run can see broken: what a finding of each says.

Codes, names and severities are those of the static rules, which are strangers to this stage; a test holds both to
the same. A rule that is not in this table is none of the run's: a breach of it is left to the other witnesses.
"""

from __future__ import annotations

from dataclasses import dataclass

from verifygate.model import Severity


@dataclass(frozen=True, slots=True)
class RunRule:
    """How a finding of this rule reads when a run saw it."""

    name: str
    severity: Severity
    message: str
    """`{text}` is the source line."""
    remedy: str


_C, _H, _M, _L = Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW

RULES: dict[str, RunRule] = {
    "AMP101": RunRule(
        "backward-in-autocast",
        _M,
        "`{text}` ran inside an autocast region",
        "end the autocast region after the loss, before backward()",
    ),
    "AMP102": RunRule(
        "step-in-autocast",
        _M,
        "`{text}` ran inside an autocast region",
        "end the autocast region after the loss, before backward() and the step",
    ),
    "AMP104": RunRule(
        "autocast-stale-weights",
        _C,
        "this region stayed open over several optimizer steps: every forward in it used the weights of the first",
        "enter the region anew for each forward: end it before the weights change",
    ),
    "AMP105": RunRule(
        "autocast-device-mismatch",
        _H,
        "this region is for another type of device than the tensors that went through it: it changed nothing",
        "name the device the tensors are on: `torch.autocast(device.type, ...)`",
    ),
    "AMP107": RunRule(
        "autocast-lost-in-threads",
        _M,
        "`{text}` handed a forward to another thread, where this region does not reach: it ran in float32",
        "enter a region in the function that the thread runs",
    ),
    "AMP110": RunRule(
        "loss-outside-autocast",
        _M,
        "the loss of `{text}` was computed in float16, behind the region that gave the outputs",
        "compute the loss inside the region, or cast the outputs with `.float()`",
    ),
    "AMP201": RunRule(
        "clip-before-unscale",
        _C,
        "`{text}` clipped or bounded gradients that were still multiplied by the loss scale",
        "call `scaler.unscale_(optimizer)` between backward() and the clip",
    ),
    "AMP202": RunRule(
        "unscale-twice",
        _H,
        "`{text}` divided gradients that were unscaled already",
        "call `unscale_` once per optimizer and window, right before gradients are touched",
    ),
    "AMP203": RunRule(
        "unscale-mid-accumulation",
        _C,
        "`{text}` came before the last backward of its window: scaled and unscaled gradients were mixed",
        "call `unscale_` once, after the last backward of the window",
    ),
    "AMP205": RunRule(
        "gradient-penalty-unscaled",
        _H,
        "the loss that `{text}` helps to build depends on the loss scale",
        "scale what `autograd.grad` differentiates, and divide its result by the scale",
    ),
    "AMP206": RunRule(
        "unscaled-backward",
        _C,
        "`{text}` made gradients without the scale, and the scaler divided them by it",
        "back-propagate `scaler.scale(loss)`",
    ),
    "AMP207": RunRule(
        "step-bypasses-scaler",
        _C,
        "`{text}` stepped on gradients that a live scaler had scaled",
        "call `scaler.step(optimizer)` in place of `optimizer.step()`",
    ),
    "AMP208": RunRule(
        "double-step",
        _C,
        "`{text}` stepped a second time on the gradients of one window",
        "step once per window: `scaler.step(optimizer)` calls the optimizer's step itself",
    ),
    "AMP209": RunRule(
        "missing-update",
        _H,
        "no `update()` followed `{text}`",
        "call `scaler.update()` once per window, after the steps of all optimizers",
    ),
    "AMP210": RunRule(
        "misplaced-update",
        _H,
        "`{text}` came between a backward and the step that used its gradients, or with nothing to judge by",
        "call `scaler.update()` once per window, after the steps of all optimizers",
    ),
    "AMP211": RunRule(
        "clip-after-step",
        _H,
        "`{text}` clipped gradients that a step had used already: no effect",
        "clip between `scaler.unscale_(optimizer)` and `scaler.step(optimizer)`",
    ),
    "AMP212": RunRule(
        "zero-grad-misplaced",
        _H,
        "at `{text}` gradients were not zeroed between a step and the next backward, or before a step had used them",
        "zero the gradients once per window, after `scaler.update()` or before the first backward",
    ),
    "AMP213": RunRule(
        "scheduler-ignores-skip",
        _L,
        "`{text}` advanced the schedule although the scaler had skipped the step",
        "advance the schedule only where the scale did not fall across `scaler.update()`",
    ),
    "AMP214": RunRule(
        "skip-guard-breaks-scaler",
        _H,
        "the window that `{text}` opened was never closed by `update()`: the next one began with its state",
        "leave the check to `scaler.step`, or call `scaler.update()` on the way out too",
    ),
    "AMP215": RunRule(
        "closure-with-scaler",
        _H,
        "`{text}` gave a closure to the scaler's step",
        "compute the loss before the step; optimizers that need a closure cannot be used with a GradScaler",
    ),
    "AMP217": RunRule(
        "step-wrong-object",
        _H,
        "`{text}` gave the scaler something that is no optimizer",
        "give `scaler.step` the optimizer itself",
    ),
    "AMP219": RunRule(
        "clip-over-exhausted-iterator",
        _H,
        "`{text}` clipped nothing: its parameters had been consumed",
        "give the clip a list, or call `parameters()` anew each time",
    ),
    "AMP301": RunRule(
        "scaler-recreated",
        _H,
        "`{text}` made a new scaler for an optimizer that another one had stepped: the learned scale was lost",
        "build the scaler once, where the optimizer is built, and pass it on",
    ),
    "AMP302": RunRule(
        "scaler-not-checkpointed",
        _M,
        "`{text}` saved the optimizer's state; the scaler's was never saved in this run",
        "save `scaler.state_dict()` beside the optimizer's, and load it on resuming",
    ),
    "AMP303": RunRule(
        "enabled-mismatch",
        _H,
        "the scaler of `{text}` was on and no autocast region was, or the other way round",
        "give `enabled=` of both the same variable",
    ),
    "AMP304": RunRule(
        "bf16-with-scaler",
        _L,
        "`{text}` scaled the loss of a bfloat16 region, which needs no scale",
        "enable the scaler for float16 only",
    ),
    "AMP305": RunRule(
        "fp16-without-scaler",
        _H,
        "training ran under this float16 region with no scaler",
        "scale the loss with a `torch.amp.GradScaler`, or compute in bfloat16",
    ),
    "AMP306": RunRule(
        "scaler-misconstructed",
        _M,
        "`{text}` made a scaler that did not do what was asked for",
        'give the device type by its name: `torch.amp.GradScaler("cuda", enabled=...)`',
    ),
    "AMP403": RunRule(
        "mask-overflow",
        _H,
        "a constant of `{text}` is beyond 65504, the largest float16: it raised, or became inf",
        "use `torch.finfo(x.dtype).min`, or compute in float32",
    ),
    "AMP404": RunRule(
        "unsafe-loss",
        _H,
        "`{text}` computed binary cross entropy under CUDA autocast, which refuses it",
        "use `binary_cross_entropy_with_logits` on the outputs before the sigmoid",
    ),
    "AMP401": RunRule(
        "half-parameters-with-scaler",
        _C,
        "`{text}` was given parameters in float16, whose gradients cannot be unscaled",
        "leave the parameters in float32: autocast casts what it needs",
    ),
}

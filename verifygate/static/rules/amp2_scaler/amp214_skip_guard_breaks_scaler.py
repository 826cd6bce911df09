"""A hand-written check for inf and NaN skips the step and leaves the scaler's window open.

## What it does
Reports a condition on `isfinite`, `isnan` and the like from which a way leads past the step, and without an
`update()`, into the next window of an optimizer that was unscaled.

## Why is this bad
`update()` makes the scaler back off, and makes it forget that the optimizer was unscaled. Without it
the next `unscale_` raises; where only `step` unscales, it is worse: the scaler believes the new gradients are
unscaled already, and steps with gradients multiplied by the scale. And a scale that is too large stays too large.

## What happens at run time
Raises at the next `unscale_`: `RuntimeError: unscale_() has already been called on this optimizer since the last
update().` Silent without it (torch 2.13, CPU: a weight moved to 1107). Either needs an overflow to show, which a
short test on a CPU never meets.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            continue
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: `scaler.step` skips by itself, so the check can often go; otherwise its way out needs `update()`.

## What it cannot see
Checks that do not name isfinite, isinf, isnan, found_inf or overflow; skip paths through code outside the project.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step
"""

from verifygate.model import Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP214",
    name="skip-guard-breaks-scaler",
    severity=Severity.HIGH,
    summary="a finite check whose skip path leaves the scaler without update()",
    remedy="leave the check to `scaler.step`, or call `scaler.update()` on the way out too",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error-inf",
)

check = ProtocolMatch(RULE, "where `{text}` skips the step, the scaler's window stays open: no `update()`")

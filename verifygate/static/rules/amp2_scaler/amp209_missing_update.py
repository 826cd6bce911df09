"""A scaler step is never followed by update().

## What it does
Reports a `scaler.step(optimizer)` from which a path leads to the next step of the same optimizer without an `update()`.

## Impact
The second step raises a RuntimeError on the first machine with a live scaler; CPU tests with a disabled one pass.

## Why is this bad
`update()` ends the window: it forgets which optimizers were unscaled and stepped, and it moves the scale. Without it
the scaler refuses the next step, and could never back off after an overflow.

## What happens at run time
Raises at the next `step`: `RuntimeError: step() has already been called since the last update().` (torch 2.13). With
`enabled=False`, as on a machine without CUDA, nothing is raised: such code passes its CPU tests and fails on the GPU.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
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
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe where the step is the last one of its scaler in the loop body: `scaler.update()` is put on the line after it.

## What it cannot see
A step in a function whose caller is not part of the project: its loop, and an update in it, are out of sight.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.update
"""

from verifygate.model import Applicability, Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP209",
    name="missing-update",
    severity=Severity.HIGH,
    summary="a scaler step whose window never reaches update()",
    remedy="call `scaler.update()` once per window, after the steps of all optimizers",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    proof="raised-error",
)

check = ProtocolMatch(RULE, "`{text}` is not followed by `update()` before the next step")

"""The backward pass runs inside an autocast region.

## What it does
Reports a `backward()` that is reached while an autocast region is active, in the same function or through a call.

## Why is this bad
Autograd already runs each backward operation in the dtype of its forward operation. Inside a region autocast also
casts what the backward itself calls: gradients of float32 islands and of custom functions are computed in half
precision, and memory for the casts is held longer. The documentation of torch.amp recommends against it.

## What happens at run time
Silent. Seen on torch 2.13 (CPU): the weights after a few steps differ from those of the correct loop (about 6e-5 in
a small run with a float32 island); a custom Function without `custom_bwd` raises a dtype mismatch.

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
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe for a finding that is certain: everything from the statement to the end of the `with` block moves out of it, so the
order stays. No fix where any of that computes more than gradients and steps, or the region is no `with` of its own.

## What it cannot see
Regions entered in code outside the project, or through `__enter__` called by hand.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from verifygate.model import Applicability, Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP101",
    name="backward-in-autocast",
    severity=Severity.MEDIUM,
    summary="backward() runs inside an autocast region",
    remedy="end the autocast region after the loss, before backward()",
    words=("autocast",),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    proof="final-weights",
)

check = ProtocolMatch("AMP101", lambda text: f"`{text}` runs inside an autocast region")

"""Gradients are clipped while they are still multiplied by the loss scale.

## What it does
Reports a clip of gradients that a scaled backward made and no `unscale_` has divided yet: `clip_grad_norm_`,
`clip_grad_value_`, a model's own clip method, `p.grad.clamp_(...)`, `nan_to_num_` on gradients.

## Why is this bad
The gradients are tens of thousands of times too large at that point, so every step is clipped, and after the scaler
divides, the norm that is applied is `max_norm / scale`: the learning rate shrinks by the loss scale, and changes
whenever the scale does. A value clip or `nan_to_num_` also hides inf from the scaler, so it never backs off.

## What happens at run time
Silent on every torch (seen on 2.13, CPU): the applied norm is `max_norm / 65536` with the default scale, and
runs that differ only in `init_scale` end in different weights.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
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
Safe where the clip stands in the same block as the step of the one optimizer it is for: `scaler.unscale_(optimizer)`
is put on a line of its own before the clip, or moved there.

## What it cannot see
Clips inside libraries, and gradients rewritten through views that do not name `.grad`. With several optimizers, a
clip whose parameters cannot be told apart is reported only where it is wrong for all of them.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

from verifygate.model import Applicability, Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP201",
    name="clip-before-unscale",
    severity=Severity.CRITICAL,
    summary="gradients are clipped while still multiplied by the loss scale",
    remedy="call `scaler.unscale_(optimizer)` between backward() and the clip",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    proof="scale-invariance",
)

check = ProtocolMatch("AMP201", lambda text: f"`{text}` clips gradients that are still multiplied by the loss scale")

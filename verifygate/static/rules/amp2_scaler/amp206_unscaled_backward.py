"""The loss is not scaled before backward, though a live scaler steps the optimizer.

## What it does
Reports a `backward()` on an unscaled loss whose gradients a GradScaler then unscales or steps. A dropped result
(`scaler.scale(loss)` on a line of its own, then `loss.backward()`) is the same fault.

## Why is this bad
The scaler divides the gradients by a scale that nothing multiplied them with: with the default scale they are 65536
times too small, and small ones flush to zero. Training crawls, and looks like a bad learning rate.

## What happens at run time
Silent from the second iteration on (torch 2.13, CPU: a gradient of 2.67 became 4.1e-05). If no `scale()` was ever
called, `unscale_` and `step` raise `AssertionError: Attempted step but _scale is None`.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss)
        loss.backward()
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
No automatic fix: whether the loss should be scaled, or the scaler should not be there, is a decision.

## What it cannot see
Losses scaled by hand. With several optimizers, a backward is held against one only where no scaled backward follows.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from verifygate.model import Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP206",
    name="unscaled-backward",
    severity=Severity.CRITICAL,
    summary="backward() on an unscaled loss whose gradients the scaler divides",
    remedy="call `scaler.scale(loss).backward()`",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-invariance",
)

check = ProtocolMatch("AMP206", lambda text: f"`{text}` is not scaled, but the scaler divides its gradients")

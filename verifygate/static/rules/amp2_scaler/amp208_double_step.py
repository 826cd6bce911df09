"""The scaler steps the optimizer, and the optimizer steps itself on the same gradients.

## What it does
Reports `optimizer.step()` after `scaler.step(optimizer)` with no backward in between, before or after `update()`.

## Impact
Each update is applied twice, and after a single overflow the weights are NaN for good.

## Why is this bad
Every update is applied twice, so the learning rate is about doubled and momentum counts each gradient two times. The
second step also knows nothing of inf: what the scaler skipped, it writes into the weights.

## What happens at run time
Silent on every torch (seen on 2.13, CPU); after one overflow the weights are NaN for good.

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
        optimizer.step()
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
No automatic fix: removing a step changes the effective learning rate, which may have been tuned around it.

## What it cannot see
Optimizers stepped inside libraries, and a second step in a callback that is not called from the project.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from verifygate.model import Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP208",
    name="double-step",
    severity=Severity.CRITICAL,
    summary="scaler.step and optimizer.step on the same gradients",
    remedy="remove `optimizer.step()`: `scaler.step(optimizer)` calls it",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="inf-injection",
)

check = ProtocolMatch(RULE, "`{text}` steps again on gradients that the scaler has stepped with")

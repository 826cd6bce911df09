"""`unscale_` is called twice for one optimizer in one window, or after its step.

## What it does
Reports a second `scaler.unscale_(optimizer)` before the `update()` that ends the window, and one that comes after
`scaler.step(optimizer)`. A second one with a backward in between is AMP203; one that a hand-written check for inf and
NaN leads to is AMP214.

## Why is this bad
`unscale_` divides every gradient by the loss scale. Dividing twice makes the update tens of thousands of times too
small, so the scaler keeps a note of it and refuses.

## What happens at run time
Raises (torch 2.13): `RuntimeError: unscale_() has already been called on this optimizer since the last update().`, or
`unscale_() is being called after step().` With a disabled scaler nothing is raised: the fault waits for the first
GPU.

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
        torch.nn.utils.clip_grad_value_(model.parameters(), 10.0)
        scaler.unscale_(optimizer)
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
        torch.nn.utils.clip_grad_value_(model.parameters(), 10.0)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: which of the two calls is the right one depends on what stands between them.

## What it cannot see
Two optimizers over the same parameters, each unscaled once: torch does not notice that either, and divides twice.
Ways that need two conditions which change from turn to turn are not reported.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.unscale_
"""

from verifygate.model import Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP202",
    name="unscale-twice",
    severity=Severity.HIGH,
    summary="unscale_ twice in one window, or after the step",
    remedy="call `scaler.unscale_(optimizer)` once per window, before the first use of its gradients",
    words=("unscale_",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

check = ProtocolMatch(
    "AMP202", lambda text: f"`{text}` divides gradients that this window has unscaled or stepped already"
)

"""Gradients are unscaled before the last backward of their window.

## What it does
Reports an `unscale_` after which another scaled backward adds to the same gradients: `unscale_` on every micro-batch
of an accumulation, or between two backwards that share a step.

## Impact
The last micro-batch outweighs the others 65,536 times, or the run stops at the second `unscale_`.

## Why is this bad
The gradients that were there have been divided by the scale, the ones that come in have not: the sum is dominated by
the last backward, tens of thousands of times over. The step does not unscale again, because `unscale_` was called.

## What happens at run time
Silent when the backward follows (torch 2.13, CPU: a weight moved by the scaled gradient of the second loss). When
`unscale_` comes once per micro-batch, the second call raises `unscale_() has already been called on this optimizer
since the last update().`; with an `update()` in between it is silent again, and the earlier micro-batches are divided
twice.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
            penalty = loss_fn(0.5 * model(inputs), targets)
        scaler.scale(loss).backward(retain_graph=True)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.scale(penalty).backward()
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
            penalty = loss_fn(0.5 * model(inputs), targets)
        scaler.scale(loss).backward(retain_graph=True)
        scaler.scale(penalty).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: the call has to move behind the last backward, often into the branch that steps.

## What it cannot see
With several optimizers a backward is not attributed to one of them: it may be another's. Two conditions that change
from iteration to iteration (`if ready(): unscale_` and `if due(): step`) are not reported, as they may always agree.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

from verifygate.model import Severity, Witness
from verifygate.static.rule import ProtocolMatch, Rule

RULE = Rule(
    code="AMP203",
    name="unscale-mid-accumulation",
    severity=Severity.CRITICAL,
    summary="unscale_ before the last backward of the window",
    remedy="call `scaler.unscale_(optimizer)` once, after the last backward of the window and before the step",
    words=("unscale_",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-invariance",
)

check = ProtocolMatch(RULE, "`{text}` comes before a further backward of the same window")

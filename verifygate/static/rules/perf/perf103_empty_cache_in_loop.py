"""Every step gives the cached memory back to the device.

## What it does
Reports `torch.cuda.empty_cache()` that runs in every step of training, or for every batch of an evaluation in a file
that trains.

## Impact
Each step waits for the GPU and asks the driver for its memory again, and no out-of-memory error is cured.

## Why is this bad
The allocator keeps freed blocks so that the next step gets them at once. Emptying it makes each step ask the driver
for its memory again, and giving blocks back waits for the GPU. It does not lower the memory that tensors hold, so it
does not cure an out-of-memory error either.

## What happens at run time
The numbers are the same and the step is slower. Without CUDA in use it does nothing. The proof counts the waits on an
emulated queue (torch 2.13, CPU).

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
        torch.cuda.empty_cache()
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
    torch.cuda.empty_cache()
```

## Fix safety
Safe for the numbers; no automatic fix, because memory that is short for other reasons may then show.

## What it cannot see
Whether another process needs the memory. Calls in handlers of out-of-memory errors, and behind conditions that hold in
some steps only, are left alone.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.per_iteration_calls import calls_each_turn
from verifygate.static.rule import Match, Rule

RULE = Rule(
    code="PERF103",
    name="empty-cache-in-loop",
    severity=Severity.MEDIUM,
    summary="every step gives the cached memory back to the device",
    remedy="drop it, or call it once between phases",
    words=("autocast", "GradScaler", "unscale_", "DataLoader"),
    proof="device-waits",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Calls in every iteration of a loop that trains, or evaluates what its file trains."""
    for spot, own in calls_each_turn(analysis, "torch.cuda.empty_cache"):
        yield Match(spot.place, "`torch.cuda.empty_cache()` runs in every step", certain=own)

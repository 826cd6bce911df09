"""Every step waits for the GPU with `torch.cuda.synchronize()`.

## What it does
Reports `torch.cuda.synchronize()` that runs in every step of training, or for every batch of an evaluation in a file
that trains, where nothing near it is timed.

## Impact
The GPU idles at the start of each step, and the results are the same without the wait.

## Why is this bad
The call returns when everything that was queued is done: Python cannot queue the next step meanwhile, so the GPU is
idle at the start of each. No result needs it: whatever reads a tensor on the host waits by itself.

## What happens at run time
The numbers are the same. On a CUDA device the queue runs empty once per step; without one the call raises (torch 2.13,
CPU build: `AssertionError: Torch not compiled with CUDA enabled`). The proof counts the waits on an emulated queue.

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
        if torch.cuda.is_available():
            torch.cuda.synchronize()
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
    if torch.cuda.is_available():
        torch.cuda.synchronize()
```

## Fix safety
Safe to delete by hand where no other stream, process or clock relies on it; no automatic fix.

## What it cannot see
Why it stands there. A loop in which a clock is read or events are recorded is taken to be timed, and a call behind a
condition that holds in some steps only is left alone.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.clocks import times_something
from verifygate.static.idioms.per_iteration_calls import calls_each_turn
from verifygate.static.rule import Match, Rule

RULE = Rule(
    code="PERF102",
    name="synchronize-in-loop",
    severity=Severity.MEDIUM,
    summary="every step waits for the GPU with torch.cuda.synchronize()",
    remedy="drop it, or keep it to the steps that are timed",
    words=("autocast", "GradScaler", "unscale_", "DataLoader"),
    proof="device-waits",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Calls in every iteration, where nothing near them is timed."""
    for spot, own in calls_each_turn(analysis, "torch.cuda.synchronize"):
        if not times_something(analysis, spot):
            yield Match(spot.place, "`torch.cuda.synchronize()` empties the queue in every step", certain=own)

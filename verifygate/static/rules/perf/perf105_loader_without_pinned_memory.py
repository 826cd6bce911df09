"""Batches go to the GPU from pageable memory.

## What it does
Reports a `DataLoader` with `pin_memory` False or not given, where a training loop draws from it and moves the batches
to a GPU.

## Impact
Python waits for each copy to the device instead of queueing the step.

## Why is this bad
The driver can only copy from pinned memory by itself. From pageable memory it copies through a buffer of its own, and
Python waits.

## What happens at run time
The numbers are the same; each copy to a CUDA device blocks. Without an accelerator `pin_memory=True` only warns
(torch 2.13: "'pin_memory' argument is set as true but no accelerator is found"). The proof counts the copies that wait
for an emulated queue.

## Example
```python
import torch
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(batches, batch_size=None, num_workers=2)
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
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
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(batches, batch_size=None, num_workers=2, pin_memory=torch.cuda.is_available())
    for inputs, targets in loader:
        inputs, targets = inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: pinned memory is a limited resource of the machine.

## What it cannot see
Batches of types of one's own (they need a `pin_memory()` method), and loops that move them in a function that cannot
be followed. Where the move says `non_blocking=True` already, PERF106 reports the pair.

## References
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.data_loaders import feeding_a_gpu
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="PERF105",
    name="loader-without-pinned-memory",
    severity=Severity.LOW,
    summary="batches go to the GPU from pageable memory",
    remedy="give `pin_memory=True`, and move the batch with `non_blocking=True`",
    words=("DataLoader",),
    proof="device-waits",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Loaders that a GPU loop draws from and that surely do not pin."""
    for feed in feeding_a_gpu(analysis):
        if feed.asynchronous or feed.loader.constant("pin_memory", default=False) is not False:
            continue
        place = Location(feed.loader.function, feed.loader.call)
        loop = Location(feed.loop.function, feed.loop.node)
        yield Match(
            place, "the DataLoader does not pin the batches that go to the GPU", steps=((loop, "drawn from here"),)
        )

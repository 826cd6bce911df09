"""A batch is moved to the GPU in a way that its memory does not match.

## What it does
Reports the two halves of an asynchronous copy where one is missing: batches that the loader pins and the loop moves
without `non_blocking=True`, and batches moved with it from a loader that does not pin.

## Impact
The copy to the device blocks as if neither setting were there.

## Why is this bad
Only both together let the copy run beside the computation. Pinning alone costs memory and the copy still waits;
`non_blocking=True` from pageable memory has no effect.

## What happens at run time
The numbers are the same; the copy to a CUDA device blocks Python in both cases. The proof counts the copies that wait
for an emulated queue (torch 2.13, CPU).

## Example
```python
import torch
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(batches, batch_size=None, num_workers=2)
    for inputs, targets in loader:
        inputs, targets = inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)
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
Safe where the loader pins: `non_blocking=True` is added to the copies of the batch *to* the GPU in that loop. A loader
that does not pin is left to people, and so is any copy to the CPU, where the flag is not safe.

## What it cannot see
Moves in functions outside the loop, and loaders whose `pin_memory` comes from a configuration.

## References
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from collections.abc import Iterable

from verifygate.model import Applicability, Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.data_loaders import feeding_a_gpu
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="PERF106",
    name="blocking-transfer",
    severity=Severity.LOW,
    summary="of pin_memory and non_blocking only one is there",
    remedy="give the loader `pin_memory=True` and the move `non_blocking=True`",
    words=("DataLoader",),
    proof="device-waits",
    fix=Applicability.SAFE,
)


def check(analysis: Analysis) -> Iterable[Match]:
    """The first move of a batch in each loop whose loader does not match it."""
    for feed in feeding_a_gpu(analysis):
        pinned = feed.loader.constant("pin_memory", default=False)
        place = Location(feed.loop.function, feed.moves[0])
        made = (Location(feed.loader.function, feed.loader.call), "the loader")
        if pinned is True and feed.blocking:
            place = Location(feed.loop.function, feed.blocking[0])
            yield Match(place, f"`{statement_text(place)}` waits, although the loader pins the batch", steps=(made,))
        elif pinned is False and feed.asynchronous:
            message = f"`{statement_text(place)}`: `non_blocking` has no effect, the loader does not pin the batch"
            yield Match(place, message, steps=(made,))

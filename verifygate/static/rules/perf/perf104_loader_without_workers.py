"""The loader of a training loop loads in the training process.

## What it does
Reports a `DataLoader` with `num_workers` 0 or not given, where a training loop draws from it and moves the batches to
a GPU, and the dataset does work per item.

## Impact
The GPU idles while each batch is read, as loading and computing take turns.

## Why is this bad
Items are read, decoded and collated between two steps, in the process that should queue GPU work. The GPU is idle
meanwhile.

## What happens at run time
The numbers are the same. Loading and computing alternate instead of running at the same time (torch 2.13: each batch is
loaded by the process that trains); how much that costs depends on the dataset.

## Example
```python
import torch
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(batches, batch_size=None, pin_memory=torch.cuda.is_available())
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
No fix: datasets that hold open files or CUDA tensors cannot be passed to workers.

## What it cannot see
What an item costs. `TensorDataset`, whose items are slices of memory, is left alone, and so are counts of workers
that come from a configuration.

## References
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.data_loaders import feeding_a_gpu
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import ExternalResult

RULE = Rule(
    code="PERF104",
    name="loader-without-workers",
    severity=Severity.LOW,
    summary="the loader of a training loop loads in the training process",
    remedy="give `num_workers` above 0",
    words=("DataLoader",),
    proof="loading",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Loaders that a GPU loop draws from and that surely have no workers."""
    for feed in feeding_a_gpu(analysis):
        loader = feed.loader
        if loader.constant("num_workers", default=0) != 0:
            continue
        dataset = loader.values("dataset")
        if any(isinstance(value, ExternalResult) and value.name.endswith("TensorDataset") for value in dataset):
            continue
        place = Location(loader.function, loader.call)
        loop = Location(feed.loop.function, feed.loop.node)
        yield Match(
            place, "the DataLoader has no workers: loading and computing take turns", steps=((loop, "drawn from here"),)
        )

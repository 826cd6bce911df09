"""A DataLoader without workers is given options that need them.

## What it does
Reports a `DataLoader` with `persistent_workers=True`, `prefetch_factor=` or `multiprocessing_context=` whose
`num_workers` is 0 or not given.

## Impact
The program stops with a ValueError where the loader is built.

## Why is this bad
It raises where the loader is built, or at the first batch. Code that sets `num_workers=0` only for debugging or on one
platform meets it there.

## What happens at run time
torch 2.13: `ValueError: persistent_workers option needs num_workers > 0`, `ValueError: prefetch_factor option could
only be specified in multiprocessing...`.

## Example
```python
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(batches, batch_size=None, prefetch_factor=4)
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
```

## Use instead
```python
import torch
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    pinned = torch.cuda.is_available()
    loader = DataLoader(batches, batch_size=None, num_workers=2, prefetch_factor=4, pin_memory=pinned)
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
```

## Fix safety
Safe where `num_workers=0` is written in the call: the options are taken out. Unsafe where the number is left out or
comes from elsewhere, as workers may have been meant. No fix for options from a dict, or with a comment.

## What it cannot see
Options that come from a configuration, a command line or a dict that is not written out.

## References
- https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

import ast
from collections.abc import Iterable

from verifygate.model import Applicability, Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.data_loaders import ABSENT, loaders
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="PERF109",
    name="loader-options-invalid",
    severity=Severity.HIGH,
    summary="a DataLoader without workers is given options that need them",
    remedy="give `num_workers` above 0, or leave the option out",
    words=("persistent_workers", "prefetch_factor", "multiprocessing_context"),
    fix=Applicability.SAFE,
    proof="raised-error",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every DataLoader that surely has no workers and surely has an option for them."""
    for loader in loaders(analysis):
        if loader.constant("num_workers", default=0) != 0:
            continue
        for option in ("persistent_workers", "prefetch_factor", "multiprocessing_context"):
            value = loader.constant(option, default=None)
            if value is ABSENT or not value or isinstance(value, ast.AST):
                continue
            if option == "persistent_workers" and value is not True:
                continue
            place = Location(loader.function, loader.call)
            yield Match(place, f"the DataLoader gets `{option}={value!r}` and no workers: it raises ValueError")

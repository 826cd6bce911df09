"""Callables are graphed inside an autocast region that keeps its casts of weights.

## What it does
Reports `torch.cuda.make_graphed_callables(...)` inside an autocast region without `cache_enabled=False`.

## Impact
The program stops with a RuntimeError where the callables are graphed.

## Why is this bad
An autocast region casts each weight once, and keeps the result until it ends. The capture would read casts that were
made outside of it, and replay them when the weights have long changed.

## What happens at run time
Raises: `RuntimeError: make_graphed_callables does not support the autocast caching. Please set cache_enabled=False`. It
is the first thing that the function does in torch 2.13. It was run without a device, with autocast for CUDA switched on
by hand.

## Example
```python
import torch


def train(model, loss_fn, optimizer, batches):
    sample = torch.randn(16, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        model = torch.cuda.make_graphed_callables(model, (sample,))
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, batches):
    sample = torch.randn(16, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
        model = torch.cuda.make_graphed_callables(model, (sample,))
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No automatic fix.

## What it cannot see
Callables that enter a region themselves. Regions of the CPU do not matter, nor do those that may be for it.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.cuda.make_graphed_callables.html
- https://github.com/pytorch/pytorch/issues/71631
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Bound, Literal

_GRAPHER = "make_graphed_callables"
RULE = Rule(
    code="AMP112",
    name="graphed-with-weight-cache",
    severity=Severity.HIGH,
    summary="callables are graphed in an autocast region that keeps its casts of weights",
    remedy="open the region with `cache_enabled=False`",
    words=(_GRAPHER,),
    no_proof="graphs are captured on CUDA devices alone",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """Calls of the function that a caching region covers."""
    for module in analysis.modules:
        if not module.mentions(_GRAPHER.encode()) or module.file.is_test:
            continue
        for function in module.all_functions:
            frame = analysis.evaluator.root_frame(function)
            for call in function.calls:
                if last_name(call.func) != _GRAPHER:
                    continue
                if not analysis.roles.known_name(call.func, frame).startswith("torch.cuda."):
                    continue
                cover = analysis.region_coverage.cover(call, function)
                if cover is None or not cover.certain or not cover.region.is_active or not cover.region.region.caches:
                    continue
                region = cover.region.region
                device = _device(region.device, analysis)
                if device not in ("cuda", ""):
                    continue
                place = Location(function, call)
                yield Match(
                    place,
                    f"`{statement_text(place)}` is graphed in a region that keeps its casts of weights",
                    certain=bool(device) and region.enabled is None and not region.optional,
                    steps=((cover.region.place, "the region"), (place, "the capture")),
                )


def _device(device: Bound | str | None, analysis: Analysis) -> str:
    """The device type of a region; empty where it is not known."""
    if device is None or isinstance(device, str):
        return device or ""
    if isinstance(device.expr, ast.Constant):
        return str(device.expr.value)
    match analysis.evaluator.values(device.expr, device.frame):
        case (Literal(value=str() as word),):
            return word
    return ""

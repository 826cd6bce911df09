"""A backward runs inside a float8 region of Transformer Engine.

## What it does
Reports a `backward()` inside a region that `te.fp8_autocast` or `te.autocast` opens, and a whole training loop inside
one, also where the backward is in a function that the region calls.

## Impact
The backward meets scales of an iteration that is not over, and with the whole loop inside they never change.

## Why is this bad
The region collects what its layers measured, reduces it over the ranks and computes the next scales when it ends. The
documentation of Transformer Engine asks for the backward outside of it. Inside, the backward meets scales of an
iteration that is not over; where the whole loop is inside, the scales of the forward stay what they were until it ends.
The precision of the backward is that of the forward either way: nothing is gained inside.

## What happens at run time
Mostly silent. Some releases refuse a module that runs twice in one region, as it does in a loop, with an
`AssertionError`. It was not measured: Transformer Engine needs a CUDA device.

## Example
```python
import torch
import transformer_engine.pytorch as te


def train(model, loss_fn, optimizer, batches, recipe):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_fn(model(inputs), targets)
            loss.backward()
        optimizer.step()
```

## Use instead
```python
import torch
import transformer_engine.pytorch as te


def train(model, loss_fn, optimizer, batches, recipe):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No automatic fix: what else the region covers is not known to belong outside.

## What it cannot see
A region that is opened by hand, with `__enter__`; calls in the region that cannot be followed.

## References
- https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/examples/fp8_primer.html#Handling-backward-pass
- https://github.com/NVIDIA/TransformerEngine/pull/93
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.float8_regions import PACKAGE, is_surely_on
from verifygate.static.analysis import Analysis
from verifygate.static.facts.region_coverage import Cover
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP811",
    name="backward-in-float8-region",
    severity=Severity.MEDIUM,
    summary="backward() runs inside a float8 region of Transformer Engine",
    remedy="end the float8 region after the forward, before backward(): one region for each iteration",
    words=(PACKAGE,),
    no_proof="Transformer Engine runs on CUDA devices alone",
)
_BACKWARDS = frozenset({"backward", "manual_backward"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Backwards that a region covers, by calls that are all resolved."""
    coverage = analysis.float8_coverage
    for function in dict.fromkeys((*coverage.regions.by_function, *coverage.reached)):
        for call in function.calls if function.module.mentions(b"backward(") else ():
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in _BACKWARDS:
                continue
            cover = coverage.cover(call, function)
            if cover is not None and cover.certain and not function.module.file.is_test:
                yield _match(call, function, cover, analysis)


def _match(call: ast.Call, function: Function, cover: Cover, analysis: Analysis) -> Match:
    place, region = Location(function, call), cover.region
    whole = function is region.function and any(
        loop not in analysis.enclosing.loops(region.context, function)
        for loop in analysis.enclosing.loops(call, function)
    )
    loop = ", which covers the whole loop: its scales are computed when it ends" if whole else ""
    return Match(
        place,
        f"`{statement_text(place)}` runs inside the region of `{statement_text(region.place)}`{loop}",
        certain=is_surely_on(region.region),
        steps=((region.place, "the float8 region"), (place, "the backward")),
    )

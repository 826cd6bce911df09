"""Binary cross entropy on probabilities is computed inside a CUDA autocast region.

## What it does
Reports `BCELoss` and `F.binary_cross_entropy` where an autocast region for CUDA is open: written around the call, or
around a call of the function or the model that computes the loss, in this file or another. Also in the steps of a
LightningModule whose Trainer computes in float16: Lightning enters the region around them.

## Impact
Training stops at the first step on CUDA, although the tests pass on a CPU.

## Why is this bad
Autocast for CUDA refuses the operator, since the logarithms of half-precision probabilities overflow. On the CPU it is
allowed, so tests pass there, and training stops at its first step as soon as AMP is switched on with a GPU.

## What happens at run time
`RuntimeError: torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast` under CUDA
autocast, whatever the dtype of the inputs; nothing on the CPU. (From the operator lists of 2.13 and from running it
with CUDA's kernels put in place on the CPU.)

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            chances = torch.sigmoid(outputs)
            loss = torch.nn.functional.binary_cross_entropy(chances, torch.full_like(chances, 0.5))
        scaler.scale(loss).backward()
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
            outputs = model(inputs)
            halves = torch.full_like(outputs, 0.5)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(outputs, halves)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: the sigmoid that belongs to the loss may stand far away. Where probabilities are all there is, compute the loss
in a region with `enabled=False`, on `.float()` inputs.

## What it cannot see
Losses that are looked up by name, and objects that are constructed out of sight: where all that are found take another
branch than the loss, it stays silent; where some do, it is likely. A model that is built from a registry is followed by
the names of its methods, so what is found there is only likely.

## References
- https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-over-binary-cross-entropy
"""

import ast
import re
from collections.abc import Iterable

from verifygate.framework_names import LIGHTNING
from verifygate.model import Severity, Witness
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.conditions.constructed_objects import Construction
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalName, ExternalResult

RULE = Rule(
    code="AMP404",
    name="unsafe-loss",
    severity=Severity.HIGH,
    summary="binary cross entropy on probabilities inside a CUDA autocast region",
    remedy="use the `with_logits` form, or compute it with autocast off on `.float()` inputs",
    words=("autocast",),
    beside=(r"BCELoss|binary_cross_entropy(?!_)",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error-on-cuda",
)

_STEPS = r"(?:training|validation|test|predict)_step|forward"
"""Methods that Lightning runs inside its region."""
_FUNCTION = "torch.nn.functional.binary_cross_entropy"
_OBJECTS = frozenset({"torch.nn.BCELoss", "torch.nn.modules.loss.BCELoss", "torch.nn.modules.BCELoss"})


def looks_beside(analysis: Analysis) -> bool:
    """Whether some region is ever on, or Lightning may enter one."""
    return analysis.written_regions.some_active or any(
        each.framework is LIGHTNING and Precision.FLOAT16 in (each.precisions or ())
        for each in analysis.frameworks.instances
    )


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call of the loss that a region for CUDA covers."""
    if not looks_beside(analysis):
        return
    for function in analysis.functions:
        if not function.module.mentions(b"BCELoss", b"binary_cross_entropy"):
            continue
        for node in function.calls:
            if (unsafe := _is_unsafe(node, function, analysis)) is not None:
                cover = analysis.region_coverage.cover(node, function)
                if cover is None and (delegated := _in_lightnings(node, function, analysis)) is not None:
                    yield delegated
                devices = analysis.devices.of(cover.region.region) if cover else frozenset()
                if cover is None or not devices & {"cuda", "?"} or _is_island_by_default(cover.region, analysis):
                    continue
                place = Location(function, node)
                reached = analysis.constructed_objects.come_to(place)
                if reached is Construction.NEVER:
                    continue
                yield Match(
                    place,
                    f"`{statement_text(place)}` runs inside a CUDA autocast region, which refuses it",
                    certain=unsafe and cover.certain and devices == {"cuda"} and reached is Construction.OPEN,
                    steps=((cover.region.place, "the region"), (place, "the loss")),
                )


def _in_lightnings(call: ast.Call, function: Function, analysis: Analysis) -> Match | None:
    """The loss in a step of a LightningModule, around which Lightning enters the region."""
    if function.owner is None or not re.fullmatch(_STEPS, function.name):
        return None
    if analysis.region_coverage.written_around(call, function) is not None:
        return None
    if analysis.frameworks.host(function.owner) is not LIGHTNING:
        return None
    handle, place = analysis.frameworks.running(function), Location(function, call)
    if handle is None or not handle.scales or handle.place is None:
        return None
    message = f"`{statement_text(place)}` runs inside the autocast region of Lightning, which refuses it on CUDA"
    return Match(place, message, certain=False, steps=((handle.place, "the region"), (place, "the loss")))


def _is_island_by_default(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether a module's forward iterations autocast off unless it is told otherwise, and no call in sight tells it."""
    function, enabled = region.function, region.region.enabled
    if function.name != "forward" or enabled is None or not isinstance(enabled.expr, ast.Name):
        return False
    default = function.default(enabled.expr.id)
    if not (isinstance(default, ast.Constant) and default.value is False):
        return False
    return not any(enabled.expr.id in entered.arguments for _, entered in analysis.call_graph.entries(function))


def _is_unsafe(call: ast.Call, function: Function, analysis: Analysis) -> bool | None:
    """True where the call surely computes the loss, False where it may, None where it does not."""
    values = analysis.evaluator.values(call.func, analysis.evaluator.root_frame(function))
    hits = [
        value
        for value in values
        if (isinstance(value, ExternalName) and value.name == _FUNCTION)
        or (isinstance(value, ExternalResult) and value.name in _OBJECTS and value.calls)
    ]
    return len(hits) == len(values) if hits else None

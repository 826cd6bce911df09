"""Tensors are cast to half by hand inside an autocast region.

## What it does
Reports `x.half()` and `x.to(torch.float16)` on what goes into a call inside the region, and `custom_fwd` with
`cast_inputs=torch.float16` on a method of a module.

## Impact
Values beyond 65504 become inf in the cast, after which the scaler skips every step.

## Why is this bad
Autocast casts for each operator, and only where half is safe; a cast by hand takes that choice away. Losses, norms and
softmax then see values that have lost digits or overflowed beyond 65504, and the region is wrong as soon as its dtype
is changed to bfloat16.

## What happens at run time
Silent: a value beyond 65504 becomes inf in the cast. A model that normalises raw inputs first (sensor counts, audio,
prices) does well without the cast; with it every output is NaN, and the scaler skips every step (torch 2.13, CPU).
Values that half can hold differ little, as autocast casts them itself in most first layers.
`custom_fwd(cast_inputs=...)` switches autocast off inside.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs.half()), targets)
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
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: a cast may be there for an operator of one's own that takes half only.

## What it cannot see
Casts through attributes, and tensors that were made half before the region.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.step_tensors import is_loss_call
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name

RULE = Rule(
    code="AMP405",
    name="half-cast-in-autocast",
    severity=Severity.LOW,
    summary="tensors are cast to half by hand inside an autocast region",
    remedy="leave the cast to autocast",
    words=("autocast",),
    beside=("custom_fwd",),
    proof="update-norm-raw",
)

_HALF = frozenset({"torch.float16", "torch.half"})


def check(analysis: Analysis) -> Iterable[Match]:
    """Casts of what a model or a loss is called on, and casts of all inputs of a module's method."""
    for region in analysis.written_regions.all:
        if not region.is_active or Dtype.FLOAT16 not in analysis.region_dtypes.of(region):
            continue
        for call in region.calls:
            if analysis.region_coverage.written_around(call, region.function) is not region:
                continue
            if _is_cast(call, region.function, analysis) and _is_used_by_name(call, region.function, analysis):
                place = Location(region.function, call)
                message = f"`{statement_text(place)}` rounds by hand what a loss or a model is given"
                yield Match(place, message, certain=False)
            for argument in call.args:
                if _is_cast(argument, region.function, analysis) and analysis.hot_loops.is_model(
                    call.func, region.function
                ):
                    place = Location(region.function, argument)
                    yield Match(place, f"`{statement_text(place)}` casts by hand what autocast casts where it is safe")
    yield from _decorated(analysis)


def _is_used_by_name(cast: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a name that a cast is bound to goes into a loss or a model."""
    outer = analysis.enclosing.parent(cast, function)
    names = {each.id for each in getattr(outer, "targets", ()) if isinstance(each, ast.Name)}
    return any(
        isinstance(argument, ast.Name)
        and argument.id in names
        and any(binding.node is outer for binding in reaching(argument.id, argument, function) or ())
        for call in (function.calls if names else ())
        if is_loss_call(call) or analysis.hot_loops.is_model(call.func, function)
        for argument in call.args
    )


def _is_cast(node: ast.expr, function: Function, analysis: Analysis) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if node.func.attr == "half":
        return not node.args
    frame = analysis.evaluator.root_frame(function)
    given = [*node.args, *(word.value for word in node.keywords)]
    return node.func.attr == "to" and any(analysis.roles.known_name(each, frame) in _HALF for each in given)


def _decorated(analysis: Analysis) -> Iterable[Match]:
    for function in analysis.functions:
        if function.owner is None or not any(
            base.startswith("torch.nn.") for base in analysis.evaluator.outside_bases(function.owner)
        ):
            continue
        frame = analysis.evaluator.module_frame(function.module)
        for decorator in getattr(function.node, "decorator_list", ()):
            if not isinstance(decorator, ast.Call) or last_name(decorator.func) != "custom_fwd":
                continue
            casts = [word.value for word in decorator.keywords if word.arg == "cast_inputs"]
            if any(analysis.roles.known_name(each, frame) in _HALF for each in casts):
                yield Match(
                    Location(function, decorator),
                    "all inputs of this method become half, and autocast is off inside it",
                )

"""A training computes in float8 where it can, and in float32 everywhere else.

## What it does
Reports a float8 region of Transformer Engine around a forward that is trained, outside of any autocast region, over a
model whose parameters nothing has cast, and which has matrix products of torch's own.

## Impact
All layers but the converted ones compute in float32, and decide the time of a step.

## Why is this bad
The region says what Transformer Engine's layers do, and nothing about others: linear layers, convolutions and attention
of torch compute in float32, and so is all that passes between the layers. The slowest and largest part of the model is
what decides the time of an iteration then.

## What happens at run time
Silent: the numbers are right, at the cost of float32. Transformer Engine's layers take their activations' dtype from
autocast, or else from their inputs.

## Example
```python
import torch
import transformer_engine.pytorch as te

model = torch.nn.Sequential(te.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10))


def train(loss_fn, optimizer, batches, recipe):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Use instead
```python
import torch
import transformer_engine.pytorch as te

model = torch.nn.Sequential(te.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10))


def train(loss_fn, optimizer, batches, recipe):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No fix: float32 may be meant.

## What it cannot see
Models that are not followed to their constructors are left alone; so is a default dtype that a caller sets elsewhere.

## References
- https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/examples/fp8_primer.html#FP8-autocasting
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.constructor_arguments import argument
from verifygate.static.amp.float8_regions import PACKAGE
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.idioms.module_layers import Layer, layers_of
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult, Object

RULE = Rule(
    code="AMP814",
    name="float32-beside-float8",
    severity=Severity.LOW,
    summary="what a float8 region does not convert computes in float32",
    remedy="open `torch.autocast(..., dtype=torch.bfloat16)` around the forward as well, or make the model in bfloat16",
    words=(PACKAGE,),
    no_proof="Transformer Engine runs on CUDA devices alone",
)
_PRODUCTS = ("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "MultiheadAttention", "TransformerEncoderLayer")


def check(analysis: Analysis) -> Iterator[Match]:
    """Regions around the forward of a model that is trained in the same function."""
    for region in analysis.float8_coverage.regions.all:
        if not region.is_active or region.function.module.file.is_test or not _is_trained(region):
            continue
        for call in region.calls:
            product = _float32_product(call, region.function, analysis)
            if product is not None:
                yield Match(
                    region.place,
                    f"`{statement_text(region.place)}` leaves `{statement_text(product.place)}`, and all that is not "
                    "Transformer Engine's, in float32",
                    certain=False,
                    steps=((product.place, "a layer of torch's own"), (region.place, "the float8 region")),
                )
                break


def _is_trained(region: WrittenRegion) -> bool:
    """Whether a backward follows the region in its function."""
    after = getattr(region.block, "end_lineno", 0)
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and call.lineno > after
        for call in region.function.calls
    )


def _float32_product(call: ast.Call, function: Function, analysis: Analysis) -> Layer | None:
    """A layer of torch with a matrix product that a call runs in float32; None where it may be otherwise."""
    frame = analysis.evaluator.root_frame(function)
    values = analysis.evaluator.values(call.func, frame)
    if len(values) != 1 or not isinstance(values[0], ExternalResult | Object):
        return None
    if analysis.region_coverage.cover(call, function) is not None or _enters_autocast(call, function, analysis):
        return None
    if any(each.dtype is not Dtype.FLOAT32 for each in analysis.module_dtypes.of(call.func, frame)):
        return None
    layers = list(layers_of(call.func, frame, analysis))
    given = (argument(each.made, word, 99) for each in layers for word in ("params_dtype", "dtype"))
    if any(each is not None for each in given) or _sets_default_dtype(function, analysis):
        return None
    if not any(each.made.name.startswith(f"{PACKAGE}.") for each in layers):
        return None
    return next((each for each in layers if _is_product(each)), None)


def _is_product(layer: Layer) -> bool:
    package, _, last = layer.made.name.rpartition(".")
    return package.startswith("torch.nn") and last in _PRODUCTS


def _enters_autocast(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether what a call runs opens a region itself."""
    queue, seen = list(analysis.call_graph.callees(call, function)), set[Function]()
    while queue:
        callee = queue.pop()
        if callee not in seen:
            seen.add(callee)
            if any(each.is_active for each in analysis.written_regions.by_function.get(callee, ())):
                return True
            queue += [inner for each in callee.calls for inner in analysis.call_graph.callees(each, callee)]
    return False


def _sets_default_dtype(function: Function, analysis: Analysis) -> bool:
    """Whether a file of the program sets the dtype that modules are made in."""
    files = analysis.import_graph.together(function.module.path)
    return any(b"set_default_dtype(" in file.data for file in analysis.import_graph.sources.each(files))

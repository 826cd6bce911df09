"""A constant that half precision cannot hold meets a half tensor inside an autocast region.

## What it does
Reports `masked_fill`, `masked_fill_`, `clamp` and `torch.where` with a finite constant beyond 65504 on a tensor that is
half inside a float16 region: a product of matrices, a convolution, or what is computed from one by operators that keep
the dtype.

## Why is this bad
65504 is the largest float16. `-1e9` is the usual constant for masked attention scores, and works until somebody
switches AMP on.

## What happens at run time
`masked_fill` and `clamp` raise (torch 2.13; `at::Half` before):
`RuntimeError: value cannot be converted to type c10::Half without overflow`. `torch.where` is silent and gives inf, of
which a softmax over a row that is masked whole makes NaN.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            scores = outputs @ outputs.t()
            scores = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), -1e9)
            loss = loss_fn(outputs, targets) + scores.softmax(-1).mean()
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
            scores = outputs @ outputs.t()
            lowest = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), lowest)
            loss = loss_fn(outputs, targets) + scores.softmax(-1).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: `torch.finfo(x.dtype).min` and `float("-inf")` differ in rows that are masked whole.

## What it cannot see
Tensors whose dtype the caller decides, and constants from configurations.

## References
- https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.halves import LARGEST
from verifygate.static.precision import Dtype
from verifygate.static.program import Function
from verifygate.static.rule import Match, Rule, statement_text

RULE = Rule(
    code="AMP403",
    name="mask-overflow",
    severity=Severity.HIGH,
    summary="a constant beyond 65504 on a half tensor inside a float16 region",
    remedy="use `torch.finfo(x.dtype).min`, or compute in float32 there",
    words=("autocast", "masked_fill"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

_METHODS = {"masked_fill": 1, "masked_fill_": 1, "clamp": 0, "clamp_": 0, "clamp_min": 0, "clamp_max": 0}
"""Method -> position of the constant."""
_KEYWORDS = ("value", "min", "max", "other")


def check(analysis: Analysis) -> Iterable[Match]:
    """Every large constant on a half tensor that a float16 region covers."""
    if not any(region.is_active for region in analysis.written_regions.all):
        return
    for call, function in analysis.calls():
        if not isinstance(call.func, ast.Attribute):
            continue
        subject = _overflowing(call, function, analysis)
        if subject is None or not analysis.halves.is_half(subject, function):
            continue
        cover = analysis.covered.cover(call, function)
        dtypes = analysis.precision.of_region(cover.region) if cover else frozenset()
        if cover is None or Dtype.FLOAT16 not in dtypes:
            continue
        place = Place(function, call)
        yield Match(
            place,
            f"`{statement_text(place)}`: float16 ends at 65504",
            certain=cover.certain and dtypes == {Dtype.FLOAT16} and call.func.attr != "where",
            steps=((cover.region.place, "the region"), (place, "the constant")),
        )


def _overflowing(call: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """The tensor that meets a finite constant beyond the range of float16."""
    if not isinstance(call.func, ast.Attribute):
        return None
    frame = analysis.evaluator.root_frame(function)
    if call.func.attr == "where" and len(call.args) == 3:
        numbers = [_too_large(argument, function, analysis) for argument in call.args[1:]]
        return call.args[2] if numbers == [True, False] else (call.args[1] if numbers == [False, True] else None)
    if call.func.attr not in _METHODS or analysis.roles.known_name(call.func, frame):
        return None
    given = call.args[_METHODS[call.func.attr] :]
    given += [word.value for word in call.keywords if word.arg in _KEYWORDS]
    return call.func.value if any(_too_large(each, function, analysis) for each in given) else None


def _too_large(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    number = analysis.halves.number(expr, analysis.evaluator.root_frame(function))
    return number is not None and LARGEST < abs(number) < float("inf")

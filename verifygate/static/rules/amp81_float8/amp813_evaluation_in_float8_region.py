"""An evaluation inside a float8 region goes into the scales that the training uses.

## What it does
Reports a model that `eval()` has switched over, and that runs inside a float8 region of Transformer Engine with
autograd on, where the region's recipe is `DelayedScaling`, or is not known.

## Impact
The training's scales follow the evaluation's data, so that losses depend on how often the model is evaluated.

## Why is this bad
With delayed scaling, the scale of each tensor comes of the largest values of the iterations before. A region brings
this history up to date when it ends, unless autograd is off: `eval()` changes nothing about that. The training goes on
with scales that come of the evaluation's data, and the losses of a run depend on how often it is evaluated.

## What happens at run time
Silent. Read in Transformer Engine's source; not run, for want of a device.

## Example
```python
import torch
import transformer_engine.pytorch as te


def evaluate(model, loss_fn, batches, recipe):
    model.eval()
    total = 0.0
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            total += loss_fn(model(inputs), targets).item()
    model.train()
    return total
```

## Use instead
```python
import torch
import transformer_engine.pytorch as te


@torch.no_grad()
def evaluate(model, loss_fn, batches, recipe):
    model.eval()
    total = 0.0
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            total += loss_fn(model(inputs), targets).item()
    model.train()
    return total
```

## Fix safety
No automatic fix: `no_grad` is right for an evaluation that differentiates nothing.

## What it cannot see
An evaluation without `eval()`; callers that turn autograd off and are not in sight. It is likely at most, because the
default recipe depends on the device.

## References
- https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/examples/fp8_primer.html#Mixed-precision-training-with-FP8
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.autograd_contexts import GradMode
from verifygate.static.amp.float8_regions import PACKAGE, Float8Regions
from verifygate.static.analysis import Analysis
from verifygate.static.facts.autograd_mode import CallerMode
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP813",
    name="evaluation-in-float8-region",
    severity=Severity.LOW,
    summary="a model is evaluated in a float8 region with autograd on: the training's scales take it in",
    remedy="evaluate under `torch.no_grad()`",
    words=(PACKAGE,),
    no_proof="Transformer Engine runs on CUDA devices alone",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """The first call of an evaluated model in each region."""
    recipes = Float8Regions(analysis.evaluator)
    for region in analysis.float8_coverage.regions.all:
        if not region.is_active or region.function.module.file.is_test or recipes.keeps_history(region.region) is False:
            continue
        for call in region.calls:
            switched = _switched_over(call, region.function)
            if switched is not None and not _trains_or_records_nothing(region, switched, analysis):
                place = Location(region.function, call)
                yield Match(
                    place,
                    f"`{statement_text(place)}` is an evaluation, whose values go into the scales of the training",
                    certain=False,
                    steps=((Location(region.function, switched), "evaluation begins"), (region.place, "the region")),
                )
                break


def _switched_over(call: ast.Call, function: Function) -> ast.Call | None:
    """The `eval()` that is the last thing a function says about the mode of what a call runs."""
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return None
    before = [each for each in _modes(ast.unparse(call.func), function) if each.lineno <= call.lineno]
    last = max(before, key=lambda each: (each.lineno, each.col_offset), default=None)
    return last if last is not None and _word(last) == "eval" else None


def _modes(model: str, function: Function) -> Iterator[ast.Call]:
    """The calls that switch a model between training and evaluation."""
    for call in function.calls:
        match call.func:
            case ast.Attribute(value=owner, attr="eval" | "train") if ast.unparse(owner) == model:
                yield call


def _word(call: ast.Call) -> str:
    """`eval` or `train`; `train(False)` is the former."""
    off = any(isinstance(each, ast.Constant) and each.value is False for each in call.args)
    return "eval" if off or (isinstance(call.func, ast.Attribute) and call.func.attr == "eval") else "train"


def _trains_or_records_nothing(region: WrittenRegion, switched: ast.Call, analysis: Analysis) -> bool:
    """Whether autograd is off in a region or may be, or a backward follows before the model trains again."""
    function = region.function
    frame = analysis.evaluator.root_frame(function)
    if any(analysis.roles.autograd.at(node, frame) is not GradMode.ON for node in (region.context, *region.calls)):
        return True
    callers = analysis.autograd_mode.of_callers(function)
    if callers in (CallerMode.OFF, CallerMode.MIXED) or analysis.autograd_mode.is_switched(function):
        return True
    model = ast.unparse(switched.func.value) if isinstance(switched.func, ast.Attribute) else ""
    ends = [each.lineno for each in _modes(model, function) if each.lineno > switched.lineno and _word(each) == "train"]
    end = min((line for line in ends if line > region.context.lineno), default=None)
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("backward", "grad", "manual_backward")
        and call.lineno > switched.lineno
        and (end is None or call.lineno < end)
        for call in function.calls
    )

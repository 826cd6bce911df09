"""A framework clips gradients after each micro-batch, and steps after several.

## What it does
Reports `accelerator.clip_grad_norm_` inside `accelerator.accumulate(...)` without a look at `sync_gradients`, if the
Accelerator is given a number of micro-batches other than 1. And a framework's clip outside of the condition under which
its optimizer steps.

- Certain if the number and the precision, float16 or bfloat16, are known.
- Likely behind a condition, and where the number of micro-batches is a setting.

## Impact
In float16 the second micro-batch of a window raises a RuntimeError; in other precisions earlier micro-batches count
less than the last.

## Why is this bad
Each clip cuts a partial sum: what was clipped is added to, and clipped again. So the first micro-batches of a window
count less than the last, and the gradient that is stepped on is none of the window's. In float16 the clip unscales
first, and the second one of a window has nothing left to unscale.

## What happens at run time
In float16 `RuntimeError: unscale_() has already been called on this optimizer since the last update()`. In bfloat16 and
float32 nothing raises.
Seen with torch 2.13 and Lightning 2.6.

## Example
```python
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, optimizer, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    model, optimizer = fabric.setup(model, optimizer)
    for number, (inputs, targets) in enumerate(batches, 1):
        fabric.backward(loss_fn(model(inputs), targets) / 4)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
```

## Use instead
```python
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, optimizer, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    model, optimizer = fabric.setup(model, optimizer)
    for number, (inputs, targets) in enumerate(batches, 1):
        fabric.backward(loss_fn(model(inputs), targets) / 4)
        if number % 4 == 0:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
```

## Fix safety
No fix: the clip may be logged, and what logs it has to move along.

## What it cannot see
Clips in functions of their own.

## References
- https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.framework_names import ACCELERATE
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.idioms.framework_loops import LOOP_WORDS, Does, GradientCall, GradientCalls
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP604",
    name="clip-each-micro-batch",
    severity=Severity.HIGH,
    summary="a framework clips gradients after each micro-batch, and steps after several",
    remedy="clip only where the optimizer steps: under `if accelerator.sync_gradients:`, or under the step's condition",
    words=LOOP_WORDS,
    proof="raised-error",
)
_ABOUT_THE_CLIP = r"(?i)clip|max_?norm|grad_?norm|is not None"
"""A condition that asks whether to clip at all."""


def check(analysis: Analysis) -> Iterable[Match]:
    """Clips of a framework that run more often than the step."""
    for function, found in GradientCalls(analysis).loops():
        for clip in (each for each in found if each.does is Does.CLIP):
            yield from _in_accumulate(clip, function, analysis)
            yield from _beside_a_conditional_step(clip, found, function, analysis)


def _in_accumulate(clip: GradientCall, function: Function, analysis: Analysis) -> Iterator[Match]:
    """A clip inside `with accelerator.accumulate(model):`."""
    handle = clip.handle
    if handle is None or handle.framework is not ACCELERATE or not handle.instances:
        return
    contexts = analysis.enclosing.contexts(clip.call, function)
    regions = [each for each in contexts if isinstance(each, ast.Call) and _is_accumulate(each)]
    if not regions:
        return
    leaves = analysis.path_conditions.leaves(clip.place)
    inside = [test for test, _ in leaves if test.lineno > regions[0].lineno]
    if not _are_about_the_clip(inside):
        return
    numbers = [
        (analysis.frameworks.number(given, each.frame) if given is not None else 1)
        for each in handle.instances
        for given in [each.given("gradient_accumulation_steps")]
    ]
    if any(number == 1 for number in numbers):
        return
    region = Location(function, regions[0])
    yield from _match(clip, region, "accumulates", sure=not inside and None not in numbers)


def _are_about_the_clip(tests: list[ast.expr]) -> bool:
    """Whether conditions ask no more than whether to clip at all."""
    return all(re.search(_ABOUT_THE_CLIP, ast.unparse(test)) for test in tests)


def _is_accumulate(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "accumulate"


def _beside_a_conditional_step(
    clip: GradientCall, found: list[GradientCall], function: Function, analysis: Analysis
) -> Iterator[Match]:
    """A clip in a loop whose optimizer steps under a condition on the number of the batch, which the clip is not under.

    A clip behind another condition is left alone.
    """
    around = analysis.enclosing.conditions(clip.call, function)
    if not _are_about_the_clip([test for test, _ in analysis.path_conditions.leaves(clip.place)]):
        return
    loops = analysis.enclosing.loops(clip.call, function)
    for step in found:
        if step.does is not Does.STEP or not loops or analysis.enclosing.loops(step.call, function) != loops:
            continue
        own = [each for each in analysis.enclosing.conditions(step.call, function) if each not in around]
        counted = [test for test, _ in own if any(isinstance(part, ast.Mod) for part in ast.walk(test))]
        if counted and step.line > clip.line:
            yield from _match(clip, step.place, "steps only after several", sure=not around)
            return


def _match(clip: GradientCall, beside: Location, does: str, *, sure: bool) -> Iterator[Match]:
    handle, place = clip.handle, clip.place
    if handle is None or (handle.precisions is None and function_is_test(place)):
        return
    raises = handle.may_be(Precision.FLOAT16)
    how = "unscales and clips each micro-batch" if raises else "clips the partial sum of each micro-batch"
    known = handle.is_surely(Precision.FLOAT16, Precision.BFLOAT16, Precision.TRUE_BFLOAT16)
    yield Match(
        place,
        f"`{statement_text(place)}` {how}",
        certain=sure and known,
        severity=None if raises else Severity.MEDIUM,
        steps=((beside, does), (place, "the clip")),
    )


def function_is_test(place: Location) -> bool:
    return place.function.module.file.is_test

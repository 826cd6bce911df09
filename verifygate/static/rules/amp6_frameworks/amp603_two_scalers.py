"""A scaler of one's own works beside the framework's.

## What it does
Reports `scaler.scale(loss)` that is handed to a framework's backward, and `scaler.step(optimizer)` of an optimizer that
a framework handed back, if the framework has a scaler too.

- Certain if the framework's object was followed to a call that asks for float16. With DeepSpeed in any precision:
  nothing there divides by a scaler of one's own.
- Likely if the precision is that of another call in the program.
- Not reported for bfloat16 and float32, nor where nothing in sight says the precision.

## Impact
Training goes on with gradients that are 65,536 times too large, or the first step raises an AssertionError.

## Why is this bad
The gradients are multiplied by both scales, and each side divides by its own only. The two scalers also learn their
scales from one another's overflows.

## What happens at run time
`backward(scaler.scale(loss))` trains on gradients that are 65,536 times too large. `scaler.step(optimizer)` raises
AssertionError (`_scale is None`) in Accelerate, because the framework's scaler was never asked to scale.
Seen with torch 2.13 and Lightning 2.6.

## Example
```python
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, optimizer, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    model, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        fabric.backward(scaler.scale(loss))
        optimizer.step()
```

## Use instead
```python
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, optimizer, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    model, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        fabric.backward(loss)
        optimizer.step()
```

## Fix safety
No fix: which of the two is to go is for the author to say.

## What it cannot see
A scaler in a callback, or in a trainer of another library.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.framework_names import DEEPSPEED
from verifygate.model import Severity
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.framework_loops import LOOP_WORDS, Does, GradientCalls, judged, scaling_call
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="AMP603",
    name="two-scalers",
    severity=Severity.CRITICAL,
    summary="a scaler of one's own works beside the framework's",
    remedy="leave scaling to the framework: hand it the loss as it is, and remove the scaler",
    words=LOOP_WORDS,
    proof="scale-invariance",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Scaled losses in a framework's backward, and own scalers that step a framework's optimizer."""
    for function, found in GradientCalls(analysis).loops():
        for each in found:
            scaling = scaling_call(each.subject, function, analysis)
            if each.does is not Does.FRAMEWORK_BACKWARD or scaling is None or each.handle is None:
                continue
            name = each.handle.framework.name
            place, scaled = each.place, Location(function, scaling)
            steps = ((scaled, "scaled by the project's scaler"), (place, f"scaled by {name}"))
            if each.handle.framework is DEEPSPEED:
                message = f"`{statement_text(place)}` is given a scaled loss, and no step of the engine divides again"
                yield Match(place, message, certain=each.handle.followed, steps=steps)
            elif each.handle.scales:
                message = f"`{statement_text(place)}` is given a scaled loss, which {name} scales once more"
                yield from filter(None, [judged(place, message, each.handle, steps)])
    yield from _steps(analysis)


def _steps(analysis: Analysis) -> Iterator[Match]:
    """`scaler.step(optimizer)` of an optimizer whose own step goes through the framework's scaler."""
    for step in analysis.scaler_calls:
        if step.method != "step" or step.optimizer is None or _is_of_a_framework(step, analysis):
            continue
        handle = analysis.frameworks.wrapped(step.optimizer, step.frame)
        if handle is None or not handle.scales or handle.framework is DEEPSPEED:
            continue
        message = f"`{statement_text(step.place)}` steps an optimizer whose step goes through {handle.framework.name}'s"
        match = judged(step.place, message + " scaler", handle, ((step.place, "the step"),), certain=step.is_certain)
        if match is not None:
            yield match


def _is_of_a_framework(step: ScalerCall, analysis: Analysis) -> bool:
    """`accelerator.scaler`, which is the framework's own."""
    receiver = step.receiver
    return isinstance(receiver, ast.Attribute) and analysis.frameworks.handle(receiver.value, step.frame) is not None

"""`loss.backward()` where a framework scales the loss in a backward of its own.

## What it does
Reports a plain `loss.backward()` whose gradients an optimizer of a framework steps on that has a GradScaler: one that
`accelerator.prepare`, `fabric.setup` or `deepspeed.initialize` handed back, or `self.optimizers()` in the manual
optimization of a LightningModule; and in a `training_step` that a subclass of transformers' Trainer overrides.

- Certain if the framework's object was followed to a call that asks for float16.
- Likely if the precision is that of another call in the program. Of low severity if nothing in sight says it.
- Not reported for bfloat16 and float32, which need no scaler, nor where the loss is scaled by hand.

## Impact
Updates are 65,536 times too small, or the first step raises an AssertionError.

## Why is this bad
The framework's step divides the gradients by a scale that they were never multiplied with. They become 65,536 times too
small. Accelerate and DeepSpeed also divide the loss by the number of micro-batches in their backward, which is left
out.

## What happens at run time
Fabric raises RuntimeError (2.6). The others raise AssertionError at the first step (`_scale is None`), unless another
loss has gone through the framework: then nothing raises, and the updates are too small.

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
        loss.backward()
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
No fix: several losses may go into one step.

## What it cannot see
A backward and its step in two functions, other than those of a LightningModule's `training_step`.

## References
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.backward
- https://lightning.ai/docs/pytorch/stable/model/manual_optimization.html
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.framework_names import ACCELERATE, DEEPSPEED, FABRIC, LIGHTNING, TRANSFORMERS
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.framework_loops import (
    HOOK_WORDS,
    LOOP_WORDS,
    Does,
    GradientCall,
    GradientCalls,
    is_scaled_by_hand,
    judged,
    leads_to,
)
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="AMP601",
    name="backward-past-framework",
    severity=Severity.CRITICAL,
    summary="`loss.backward()` where a framework scales the loss in a backward of its own",
    remedy="let the framework run the backward: it multiplies the loss by the scale that its step divides by",
    words=(*LOOP_WORDS, *HOOK_WORDS),
    proof="raised-error",
)

_REMEDIES = {
    ACCELERATE: "`accelerator.backward(loss)`",
    FABRIC: "`fabric.backward(loss)`",
    LIGHTNING: "`self.manual_backward(loss)`",
    TRANSFORMERS: "`self.accelerator.backward(loss)`",
    DEEPSPEED: "`engine.backward(loss)`",
}


def check(analysis: Analysis) -> Iterable[Match]:
    """Plain backwards before steps of a framework's optimizer, and in the training step of transformers."""
    for function, found in GradientCalls(analysis).loops():
        for plain in found:
            if plain.does is not Does.PLAIN_BACKWARD or is_scaled_by_hand(plain.subject, function):
                continue
            step = _next_step(plain, found, analysis)
            if step is None or step.handle is None:
                continue
            if match := _match(plain.place, step.handle, ((plain.place, "the backward"), (step.place, "the step"))):
                yield match
    yield from _in_training_steps(analysis)


def _match(place: Location, handle: object, steps: tuple[tuple[Location, str], ...]) -> Match | None:
    return judged(
        place,
        f"`{statement_text(place)}` leaves the loss as it is, and {handle.framework.name}'s step divides by its scale",  # type: ignore[attr-defined]
        handle,  # type: ignore[arg-type]
        steps,
        remedy=f"write {_REMEDIES[handle.framework]}",  # type: ignore[attr-defined]
    )


def _next_step(plain: GradientCall, found: list[GradientCall], analysis: Analysis) -> GradientCall | None:
    """The step of a framework's optimizer that comes next; none where other optimizers step in that iteration too."""
    after = [each for each in found if leads_to(plain, each, analysis)]
    if any(each.does is Does.RAW_STEP and not each.inner for each in after):
        return None
    return next((each for each in after if each.does is Does.STEP), None)


def _in_training_steps(analysis: Analysis) -> Iterator[Match]:
    """In a `training_step` of a subclass of transformers' Trainer, whose loop steps by a scaler."""
    for function in analysis.functions:
        if function.name != "training_step" or function.owner is None:
            continue
        if analysis.frameworks.host(function.owner) is not TRANSFORMERS:
            continue
        handle = analysis.frameworks.running(function)
        for call in function.calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or call.args:
                continue
            if handle is not None and not is_scaled_by_hand(call.func.value, function):
                place = Location(function, call)
                if match := _match(place, handle, ((place, "the backward"),)):
                    yield match

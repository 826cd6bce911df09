"""An optimizer is stepped past the framework that scaled its gradients.

## What it does
Reports `step()` of an optimizer that was not made part of the framework, after the framework's backward: one that
`accelerator.prepare` or `fabric.setup` was not given, or whose result was dropped; `optimizer.optimizer.step()`, which
steps the optimizer inside; one of `self.optimizers(use_pl_optimizer=False)`. And `step()` of the optimizer that
`deepspeed.initialize` returned, in place of the engine's.

- Certain if the framework's object was followed to a call that asks for float16.
- Likely if the precision is that of another call in the program. Of low severity if nothing in sight says it.
- Not reported for bfloat16 and float32, except for DeepSpeed's engine.

## Impact
SGD's updates are 65,536 times too large and not checked for inf: the loss explodes in the first steps.

## Why is this bad
The framework's backward multiplies the loss by the scale, and only its own step divides the gradients again. What steps
past it moves the weights by 65,536 times too much, and does not look for inf. DeepSpeed's engine also zeroes the
gradients, counts micro-batches and advances the schedule in its step.

## What happens at run time
Nothing raises. The loss explodes at the first steps. Adam hides it, because its update does not depend on the size of
the gradients, until the scale changes.
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
        fabric.backward(loss)
        optimizer.optimizer.step()
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
No fix: the optimizer has to be handed to the framework where it is built.

## What it cannot see
Optimizers that come from where they cannot be followed to, and a backward and a step in two functions.

## References
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.prepare
- https://lightning.ai/docs/fabric/stable/api/fabric_methods.html
"""

from collections.abc import Iterable

from verifygate.framework_names import DEEPSPEED
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.framework_loops import (
    LOOP_WORDS,
    Does,
    GradientCall,
    GradientCalls,
    judged,
    leads_to,
)
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

RULE = Rule(
    code="AMP602",
    name="step-past-framework",
    severity=Severity.CRITICAL,
    summary="an optimizer is stepped past the framework that scaled its gradients",
    remedy="step the optimizer that the framework handed back: its step divides by the scale and looks for inf",
    words=LOOP_WORDS,
    proof="scale-invariance",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Steps after a framework's backward that the framework does not see."""
    for function, found in GradientCalls(analysis).loops():
        for step in found:
            backward = _last_backward(step, found, analysis)
            if backward is None or backward.handle is None or _is_unscaled_between(backward, step, function):
                continue
            steps = ((backward.place, "the framework's backward"), (step.place, "the step"))
            framework = backward.handle.framework
            if step.does is Does.RAW_STEP and not (step.inner and step.handle.framework is not framework):  # type: ignore[union-attr]
                message = f"`{statement_text(step.place)}` steps on gradients that {framework.name} has scaled"
                if match := judged(step.place, message, backward.handle, steps, remedy=framework.steps_by):
                    yield match
            elif step.does is Does.STEP and framework is DEEPSPEED and _is_of_the_engine(step, analysis):
                yield Match(
                    step.place,
                    f"`{statement_text(step.place)}` leaves out what the engine's step does: it zeroes gradients,"
                    " counts micro-batches and advances the schedule",
                    certain=backward.handle.followed,
                    severity=Severity.HIGH,
                    steps=steps,
                    remedy="call `engine.step()`",
                )


def _last_backward(step: GradientCall, found: list[GradientCall], analysis: Analysis) -> GradientCall | None:
    """The framework's backward that a step comes after; none where a plain one has come in between."""
    before = [
        each
        for each in found
        if each.does in (Does.FRAMEWORK_BACKWARD, Does.PLAIN_BACKWARD) and leads_to(each, step, analysis)
    ]
    return before[-1] if before and before[-1].does is Does.FRAMEWORK_BACKWARD else None


def _is_unscaled_between(backward: GradientCall, step: GradientCall, function: Function) -> bool:
    return any(
        "unscale" in last_name(call.func) and backward.line < (call.lineno, call.col_offset) < step.line
        for call in function.calls
    )


def _is_of_the_engine(step: GradientCall, analysis: Analysis) -> bool:
    frame = analysis.evaluator.root_frame(step.place.function)
    return analysis.frameworks.is_engine_optimizer(step.subject, frame)

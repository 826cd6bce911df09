"""A framework updates its scale after each of two optimizers that share a backward.

## What it does
Reports the second step of two different optimizers of a framework with no backward of its own in between. In
Accelerate, Fabric and Lightning's manual optimization each optimizer's step updates the scale.

- Certain if the framework's object was followed to a call that asks for float16, and both steps always run.
- Likely if the precision is that of another call in the program. Of low severity if nothing in sight says it.
- Not reported for bfloat16 and float32.

## Impact
The second optimizer's updates are wrong whenever the scale changes, and 65,536 times too small where gradients are
clipped.

## Why is this bad
The second optimizer divides by a scale that may have changed, by gradients that were scaled before. If the gradients
were unscaled before the first step, as the framework's clip does, the update forgets that, and the second step divides
them again: they become 65,536 times too small.

## What happens at run time
Nothing raises. Without a clip the second optimizer's updates are wrong whenever the scale changes; with one, always.
Seen with torch 2.13 and Lightning 2.6.

## Example
```python
import torch
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    first = torch.optim.SGD(model.into.parameters(), lr=0.05)
    second = torch.optim.SGD(model.out.parameters(), lr=0.05)
    model, first, second = fabric.setup(model, first, second)
    for inputs, targets in batches:
        first.zero_grad()
        second.zero_grad()
        fabric.backward(loss_fn(model(inputs), targets))
        fabric.clip_gradients(model, second, max_norm=1.0)
        first.step()
        second.step()
```

## Use instead
```python
import torch
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    groups = [{"params": model.into.parameters()}, {"params": model.out.parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.05)
    model, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        fabric.backward(loss_fn(model(inputs), targets))
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
```

## Fix safety
No fix: whether one optimizer with two groups of parameters will do is for the author to say.

## What it cannot see
Steps in a loop over optimizers, and in functions of their own.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers
"""

from collections.abc import Iterable
from itertools import pairwise

from verifygate.framework_names import DEEPSPEED
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.framework_loops import (
    LOOP_WORDS,
    Does,
    GradientCall,
    GradientCalls,
    always_runs_beside,
    judged,
    leads_to,
    runs_in_one_iteration,
)
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.values.access_paths import AccessPath

RULE = Rule(
    code="AMP605",
    name="update-per-optimizer",
    severity=Severity.HIGH,
    summary="a framework updates its scale after each of two optimizers that share a backward",
    remedy="give one optimizer both groups of parameters, or each optimizer a backward of its own before its step",
    words=LOOP_WORDS,
    proof="scale-invariance",
)
_BACKWARDS = (Does.FRAMEWORK_BACKWARD, Does.PLAIN_BACKWARD)


def check(analysis: Analysis) -> Iterable[Match]:
    """The second of two steps that follow each other after a framework's backward."""
    for function, found in GradientCalls(analysis).loops():
        events = [each for each in found if each.does in (*_BACKWARDS, Does.STEP)]
        for at, (first, second) in enumerate(pairwise(events)):
            if first.does is not Does.STEP or second.does is not Does.STEP or first.handle is None:
                continue
            if first.handle.framework is DEEPSPEED or not _are_two(first, second, function, analysis):
                continue
            backward = _backward_of(at, events, analysis)
            if backward is None:
                continue
            steps = ((backward.place, "the backward"), (first.place, "steps, and updates the scale"))
            name = first.handle.framework.name
            message = f"`{statement_text(second.place)}` divides by a scale that {name} has updated since the backward"
            sure = always_runs_beside(first, second, analysis) and always_runs_beside(backward, second, analysis)
            if match := judged(
                second.place, message, first.handle, (*steps, (second.place, "the second step")), certain=sure
            ):
                yield match


def _are_two(first: GradientCall, second: GradientCall, function: Function, analysis: Analysis) -> bool:
    """Whether two steps of one iteration are of two optimizers."""
    frame = analysis.evaluator.root_frame(function)
    paths: list[AccessPath] = [analysis.roles.path(each.subject, frame) for each in (first, second)]
    return paths[0] != paths[1] and runs_in_one_iteration(first, second, analysis)


def _backward_of(at: int, events: list[GradientCall], analysis: Analysis) -> GradientCall | None:
    """The framework's backward that the steps come after, in the same iteration."""
    before = [each for each in events[:at] if each.does in _BACKWARDS]
    last = before[-1] if before else None
    if last is None or last.does is not Does.FRAMEWORK_BACKWARD:
        return None
    return last if leads_to(last, events[at], analysis) else None

"""An average of weights is updated for each micro-batch, also where the framework has taken no step.

## What it does
Reports updates of an exponential moving average of weights in a loop whose optimizer Accelerate holds back inside
`accumulate`, and in `on_train_batch_end` of Lightning with `accumulate_grad_batches`, where nothing asks whether a step
was taken. It is never certain: the decay may have been chosen for it.

## Impact
The average follows the weights more closely than its decay says: with four micro-batches, 0.999 acts as 0.996.

## Why is this bad
Between two steps the weights are the same. Each further update moves the average towards them once more: with four
micro-batches, a decay of 0.999 acts as 0.996, and changes with the number of micro-batches.

## What happens at run time
Silent. The trained weights are right, and the average, which is evaluated and saved, follows them more closely than its
decay says. Seen with torch 2.13 and Accelerate 1.15.

## Example
```python
import copy

import torch
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    average = copy.deepcopy(model)
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        with accelerator.accumulate(model):
            accelerator.backward(loss_fn(model(inputs), targets))
            optimizer.step()
            optimizer.zero_grad()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 0.01)
    print(f"{sum(weight.abs().sum().item() for weight in average.parameters()):.4f}")
```

## Use instead
```python
import copy

import torch
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    average = copy.deepcopy(model)
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        with accelerator.accumulate(model):
            accelerator.backward(loss_fn(model(inputs), targets))
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            with torch.no_grad():
                for old, new in zip(average.parameters(), model.parameters(), strict=True):
                    old.lerp_(new, 0.01)
    print(f"{sum(weight.abs().sum().item() for weight in average.parameters()):.4f}")
```

## Fix safety
No fix: the decay may have been tuned with it.

## What it cannot see
Averages of other packages than torch. A step that the scaler skips: one further update does little harm.

## References
- https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
- https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema
"""

import ast
import re
from collections.abc import Iterator

from verifygate.framework_names import ACCELERATE, LIGHTNING
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.idioms.framework_loops import Does, GradientCall, GradientCalls
from verifygate.static.idioms.running_averages import average_updates
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult

RULE = Rule(
    code="AMP615",
    name="average-without-step",
    severity=Severity.LOW,
    summary="an average of weights is updated also where the framework has taken no step",
    remedy="update it only where a step was taken: `if accelerator.sync_gradients:`, or a new `trainer.global_step`",
    words=("Accelerator", "accumulate_grad_batches"),
    proof="told-of-the-same",
)

_HOOK = "on_train_batch_end"
_AVERAGED = "torch.optim.swa_utils.AveragedModel"
_ASKS = re.compile(r"sync_gradients|step|%|accumul", re.IGNORECASE)
"""What a condition names that asks whether there was a step."""


def check(analysis: Analysis) -> Iterator[Match]:
    """Updates in each iteration of a loop with `accumulate`, and in the hook that Lightning calls for each batch."""
    for function, found in GradientCalls(analysis).loops():
        steps = [each for each in found if each.does is Does.STEP and each.handle is not None]
        for step in steps:
            if step.handle is not None and _accumulates(step, analysis):
                for place in _updates(function, analysis):
                    loops = analysis.enclosing.loops(step.call, function)
                    if loops and analysis.enclosing.loops(place.node, function)[-len(loops) :] == loops:
                        yield from _match(place, step.handle, analysis)
                break
    for function in analysis.functions:
        if function.name == _HOOK and function.owner is not None:
            for handle in _batches_accumulated(function, analysis):
                for place in _updates(function, analysis):
                    yield from _match(place, handle, analysis)


def _accumulates(step: GradientCall, analysis: Analysis) -> bool:
    """Whether Accelerate holds a step back: it stands in `accumulate`, and more than one micro-batch is asked for."""
    contexts = analysis.enclosing.contexts(step.call, step.place.function)
    named = any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "accumulate"
        for each in contexts
    )
    return named and step.handle is not None and step.handle.framework is ACCELERATE and _several(step.handle, analysis)


def _batches_accumulated(function: Function, analysis: Analysis) -> Iterator[Handle]:
    """Lightning, where it calls a hook for each of several micro-batches: of a module, or of a callback."""
    if function.owner is None or analysis.frameworks.caller_back(function.owner) is not LIGHTNING:
        return
    handle = analysis.frameworks.running(function)
    handle = handle or analysis.frameworks.in_program(LIGHTNING, function.module.path)
    if _several(handle, analysis):
        yield handle


def _several(handle: Handle, analysis: Analysis) -> bool:
    """Whether every call that may have made an object is given a number of micro-batches that may be above 1."""
    given = [(each.given(handle.framework.divides_by), each.frame) for each in handle.instances]
    return bool(given) and all(
        expr is not None and analysis.frameworks.number(expr, frame) != 1 for expr, frame in given
    )


def _updates(function: Function, analysis: Analysis) -> Iterator[Location]:
    """Where a function updates an average: itself, by torch's AveragedModel, or in a call of the project."""
    yield from (each.place for each in average_updates(function, analysis))
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "update_parameters":
            values = analysis.evaluator.values(call.func.value, frame)
            if any(isinstance(each, ExternalResult) and each.name == _AVERAGED for each in values):
                yield Location(function, call)
        elif any(
            True for callee in analysis.call_graph.callees(call, function) for _ in average_updates(callee, analysis)
        ):
            yield Location(function, call)


def _match(place: Location, handle: Handle, analysis: Analysis) -> Iterator[Match]:
    if any(_ASKS.search(ast.unparse(test)) for test, _ in analysis.path_conditions.conditions(place)):
        return
    shown = ((handle.place, "several micro-batches make a step"),) if handle.place is not None else ()
    yield Match(
        place,
        f"`{statement_text(place)}` moves the average for each micro-batch, also where {handle.framework.name} "
        "has taken no step",
        certain=False,
        steps=(*shown, (place, "the average")),
    )

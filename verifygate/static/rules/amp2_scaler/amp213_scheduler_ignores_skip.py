"""A schedule that goes step by step advances although the scaler skipped the step.

## What it does
Reports a scheduler that steps next to `scaler.step(optimizer)` in every turn and asks nothing about the scale; and
one that steps before it. Schedules per epoch are left alone, and functions that look at `get_scale()` or count skips
are too.

## Why is this bad
The scaler skips a step when a gradient is inf, a few times at the start of nearly every run, while it looks for its
scale. The schedule goes on: warmup is shorter than written, and the learning rate is ahead of the weights.

## What happens at run time
Silent but for the first step, where torch warns ``Detected call of `lr_scheduler.step()` before `optimizer.step()` ``
(torch 2.13); with a fused optimizer even that is silent.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        schedule.step()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            schedule.step()
```

## Fix safety
No automatic fix: it is advice, and the gate on the scale needs a place of its own.

## What it cannot see
Schedulers that step in another function than the optimizer, or count the steps themselves.

## References
- https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.program import Function
from verifygate.static.roles import last_name
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.scaler_calls import ScalerCall
from verifygate.static.values import Made, Unknown

RULE = Rule(
    code="AMP213",
    name="scheduler-ignores-skip",
    severity=Severity.LOW,
    summary="a per-step schedule advances when the scaler skipped the step",
    remedy="step the scheduler after `scaler.update()`, and only where the scale did not shrink",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="warning-seen",
)

_ASKS = re.compile(r"get_scale|_scale\b|found_inf|skip|overflow|was_run|step_taken|_step_count", re.IGNORECASE)
_NAME = re.compile(r"sched", re.IGNORECASE)


def check(analysis: Analysis) -> Iterator[Match]:
    """Schedulers in the same turn as the scaler's step."""
    steps: dict[Function, list[ScalerCall]] = {}
    for call in analysis.scaler_calls:
        if call.method == "step" and call.optimizer is not None:
            steps.setdefault(call.function, []).append(call)
    for function, own in steps.items():
        if any(_ASKS.search(name) for name in _names(function)):
            continue
        for node in function.own_nodes:
            if isinstance(node, ast.Call) and _is_scheduler_step(node, function, analysis):
                yield from _beside(node, function, own, analysis)


def _beside(node: ast.Call, function: Function, steps: list[ScalerCall], analysis: Analysis) -> Iterator[Match]:
    loops = analysis.nesting.loops(node, function)
    beside = [call for call in steps if analysis.nesting.loops(call.call, function) == loops]
    if not beside or not (loops or function.symbol):
        return
    place = Place(function, node)
    before = all(node.lineno < call.call.lineno for call in beside) and _in_one_block(node, beside[0], analysis)
    how = "before the optimizer does" if before else "also where the scaler skipped the optimizer's step"
    yield Match(place, f"`{statement_text(place)}` advances the schedule {how}", certain=before)


def _in_one_block(node: ast.Call, step: ScalerCall, analysis: Analysis) -> bool:
    """Whether both stand under the same conditions, so that one turn runs both."""
    function = step.function
    return analysis.nesting.conditions(node, function) == analysis.nesting.conditions(step.call, function)


def _is_scheduler_step(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "step") or call.args or call.keywords:
        return False
    values = analysis.evaluator.values(call.func.value, analysis.evaluator.root_frame(function))
    if any(isinstance(value, Made) and ".lr_scheduler." in value.name for value in values):
        return True
    unknown = all(isinstance(value, Unknown | Made) for value in values)
    return unknown and bool(_NAME.search(last_name(call.func.value)))


def _names(function: Function) -> Iterator[str]:
    for node in function.own_nodes:
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id

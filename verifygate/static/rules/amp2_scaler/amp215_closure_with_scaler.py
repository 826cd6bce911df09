"""The scaler is given a closure to step with.

## What it does
Reports `scaler.step(optimizer, closure)` and `scaler.step(optimizer, closure=closure)`. A subclass of GradScaler with
a `step` of its own is left alone, and so is a wrapper whose closure is None unless somebody passes one.

## Impact
The step uses gradients that are neither unscaled nor checked for inf, or raises a RuntimeError.

## Why is this bad
A closure runs forward and backward again, in the middle of the step: what it adds to the gradients is neither
unscaled nor checked for inf. GradScaler does not support it. Optimizers that need a closure (LBFGS, SAM) cannot be
used this way.

## What happens at run time
By keyword it raises (torch 2.13): `RuntimeError: Closure use is not currently supported if GradScaler is enabled.` By
position it is silent: the closure is called, and the optimizer steps with what it left in the gradients.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:

        def closure():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=torch.float16):
                loss = loss_fn(model(inputs), targets)
            scaler.scale(loss).backward()
            return loss

        closure()
        scaler.step(optimizer, closure)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: without the closure another optimizer, or another loop, is needed.

## What it cannot see
Closures passed on as `*args` or `**kwargs`.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step
"""

import ast
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.model import Severity, Witness
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult, FunctionValue, Literal

RULE = Rule(
    code="AMP215",
    name="closure-with-scaler",
    severity=Severity.HIGH,
    summary="scaler.step is given a closure",
    remedy="call the closure first and pass the optimizer alone, or train this optimizer without a GradScaler",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-invariance",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """Steps that are given something to run."""
    for call in analysis.scaler_calls:
        if call.method != "step" or not _closure(call, analysis):
            continue
        plain = _is_plain(call, analysis)
        if plain or not _with_own_step(analysis):
            message = f"`{statement_text(call.place)}` hands the scaler a closure, which it does not support"
            yield Match(call.place, message, certain=plain and not _is_handed_on(call))


def _closure(call: ScalerCall, analysis: Analysis) -> bool:
    """Whether the call surely passes a closure."""
    given = call.closure
    if given is None or isinstance(given, ast.Starred | ast.Lambda):
        return isinstance(given, ast.Lambda)
    if _is_handed_on(call) and _is_plain(call, analysis):
        return True
    values = analysis.evaluator.values(given, call.frame)
    functions = [value for value in values if isinstance(value, FunctionValue)]
    return bool(functions) and len(functions) == len(values)


def _is_handed_on(call: ScalerCall) -> bool:
    """Whether what is passed is the closure that the function itself takes, if it is given one."""
    given = call.closure
    return isinstance(given, ast.Name) and given.id == "closure" and _takes(call.function, given.id)


def _takes(function: Function, name: str) -> bool:
    return any(argument.arg == name for argument in function.parameters)


def _is_plain(call: ScalerCall, analysis: Analysis) -> bool:
    """Whether the scaler is built right here as torch's own; an annotation admits subclasses."""
    values = analysis.evaluator.values(call.receiver, call.frame)
    return all(isinstance(value, Literal) or (isinstance(value, ExternalResult) and value.calls) for value in values)


def _with_own_step(analysis: Analysis) -> bool:
    """Whether the project has a scaler that steps in its own way."""
    return any(
        "step" in made.methods and analysis.evaluator.outside_bases(made) & torch_names.GRAD_SCALERS
        for module in analysis.parsed()
        for made in module.classes.values()
    )

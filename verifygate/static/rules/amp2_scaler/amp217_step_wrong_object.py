"""The scaler is asked to unscale or step something that is not its optimizer.

## What it does
Reports `scaler.step` and `scaler.unscale_` of a method (`optimizer.first_step`), of the result of a step
(`optimizer.step()`), of a model or of a scheduler. Also a scaler that unscales one optimizer and steps another object
that was built around it, and one that unscales or steps gradients which only another scaler has scaled.

## Impact
The run stops with an AttributeError, or the gradients are divided by the scale twice and training stands still.

## Why is this bad
The scaler keeps its notes by the identity of what it is given. A method has no parameters to unscale; a result is
None. With an optimizer and its wrapper it keeps two notes for the same gradients, and divides them twice.

## What happens at run time
A method raises `AttributeError: 'function' object has no attribute 'param_groups'` (torch 2.13), None likewise. An
optimizer and its wrapper are silent: the gradients are divided by the scale two times, and training stands still.
Two scalers begin with one scale, so mixing them up is silent until one of them backs off or grows: from then on the
gradients are divided by another number than the loss was multiplied with.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer.step)
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
No automatic fix: the intended object is unknown, and two-step optimizers need `unscale_` and their own check.

## What it cannot see
Objects that are created outside the project, and wrappers that hide the optimizer in a list. Scalers picked by an
index or a condition, and those whose losses another function scales. If there are several optimizers and a condition
decides whether a scaler scales anything, the paths without scaling are assumed to leave its optimizer alone.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.rule import TWO_STEPS_REMEDY, Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import ExternalResult, Object, Unknown, Value
from verifygate.torch_names import SHARPNESS_STEPS

RULE = Rule(
    code="AMP217",
    name="step-wrong-object",
    severity=Severity.HIGH,
    summary="scaler.step or unscale_ of something that is not the optimizer",
    remedy="pass the optimizer itself, the same object to `unscale_` and to `step`",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

_ONE_SCALER = "let the scaler that scales the loss unscale and step the optimizer"
_METHODS = frozenset({"step", "first_step", "second_step", "zero_grad"})


def check(analysis: Analysis) -> Iterator[Match]:
    """What is no optimizer, wrappers mixed with what they wrap, and one optimizer taken for another."""
    told = list(_wrong_objects(analysis))
    yield from told
    functions = {match.place.function for match in told}
    yield from (match for match in _crossed(analysis) if match.place.function not in functions)
    yield from _mixed(analysis)


def _mixed(analysis: Analysis) -> Iterator[Match]:
    """Gradients that one scaler has scaled and another divides, where that one scales nothing out of sight."""
    for report in analysis.violations(RULE.code):
        call = next((each for each in analysis.scaler_calls if each.call is report.place.node), None)
        if call is None or _scales_elsewhere(call, {place.function for place, _ in report.path}, analysis):
            continue
        text = statement_text(report.place)
        message = f"`{text}` divides by the scale of another scaler than the one that scaled the loss"
        certain = report.certain and call.is_certain and (call.scaler.origin is None or call.is_built)
        yield Match(
            report.place,
            message,
            certain=certain,
            steps=report.path,
            remedy=_ONE_SCALER,
            assumes=report.assumes or "the two scalers are two objects",
            settling=report.settling,
        )


def _scales_elsewhere(divides: ScalerCall, functions: set[Function], analysis: Analysis) -> bool:
    """Whether the scaler may scale a loss in other functions than these, or in what it is handed to out of sight."""
    which = divides.scaler.origin
    others = [call for call in analysis.scaler_calls if call.method == "scale" and call.function not in functions]
    if any(call.scaler.origin == which or not call.scaler.origin for call in others):
        return True
    name = last_name(divides.receiver)
    return any(
        not analysis.evaluator.callees(call, analysis.evaluator.root_frame(function))
        and any(isinstance(value, Unknown) for value in analysis.evaluator.values(call.func, frame))
        for call, function in analysis.calls
        if any(
            isinstance(each, ast.Name | ast.Attribute) and last_name(each) == name
            for each in (*call.args, *(word.value for word in call.keywords))
        )
        for frame in (analysis.evaluator.root_frame(function),)
    )


def _wrong_objects(analysis: Analysis) -> Iterator[Match]:
    """What is no optimizer, and wrappers mixed with what they wrap."""
    unscaled: dict[Function, set[AccessPath]] = {}
    for call in analysis.scaler_calls:
        given = call.optimizer
        if call.method not in ("step", "unscale_") or given is None:
            continue
        what = _what_else(given, call, analysis)
        if what:
            message = f"`{statement_text(call.place)}` gives the scaler {what} instead of the optimizer"
            method = given.func if isinstance(given, ast.Call) else given
            remedy = TWO_STEPS_REMEDY if last_name(method) in SHARPNESS_STEPS else ""
            certain = call.is_certain or isinstance(given, ast.Attribute | ast.Call)
            yield Match(call.place, message, certain=certain, remedy=remedy)
        elif call.method == "unscale_":
            unscaled.setdefault(call.function, set()).add(analysis.roles.path(given, call.frame))
        elif inner := _wrapped(given, call, unscaled.get(call.function, set()), analysis):
            message = f"`{statement_text(call.place)}` steps a wrapper of `{inner}`, which was unscaled by itself"
            yield Match(call.place, message, certain=call.is_certain)


def _crossed(analysis: Analysis) -> Iterator[Match]:
    """One optimizer unscaled and another one stepped, in a function that does not do both to either."""
    calls: dict[Function, list[ScalerCall]] = {}
    for call in analysis.scaler_calls:
        if call.method in ("step", "unscale_") and isinstance(call.optimizer, ast.Name | ast.Attribute):
            calls.setdefault(call.function, []).append(call)
    for group in calls.values():
        paths = {call: analysis.roles.path(call.optimizer, call.frame) for call in group if call.optimizer is not None}
        stepped = {paths[call] for call in group if call.method == "step"}
        unscaled = {paths[call] for call in group if call.method == "unscale_"}
        others = [call for call in group if call.method == "step" and paths[call] not in unscaled]
        for call in group:
            if call.method == "unscale_" and others and paths[call] not in stepped and not paths[call].is_summary:
                texts = (statement_text(each.place) for each in (call, others[0]))
                message = "`{}` is about another optimizer than `{}`".format(*texts)
                yield Match(call.place, message, certain=False, steps=((others[0].place, "the step"),))


def _what_else(given: ast.expr, call: ScalerCall, analysis: Analysis) -> str:
    """What is given, where that is surely no optimizer."""
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _METHODS:
        return "the result of a call" if analysis.roles.is_optimizer(given.func.value, call.frame) else ""
    if isinstance(given, ast.Attribute) and given.attr in _METHODS:
        return "a method" if analysis.roles.is_optimizer(given.value, call.frame) else ""
    kinds = {_kind(value, analysis) for value in analysis.evaluator.values(given, call.frame)}
    return kinds.pop() if len(kinds) == 1 else ""


def _kind(value: Value, analysis: Analysis) -> str:
    match value:
        case ExternalResult(name=name) if ".lr_scheduler." in name:
            return "a scheduler"
        case ExternalResult(name=name, calls=calls) if calls and name.startswith("torch.nn.") and ".utils." not in name:
            return "a model"  # made in sight: an annotation alone may be careless
        case Object() if analysis.evaluator.outside_bases(value.made) & {"torch.nn.Module"}:
            has_groups = any("param_groups" in base.methods for base in analysis.evaluator.linearised(value.made))
            return "" if has_groups else "a model"
    return ""


def _wrapped(given: ast.expr, call: ScalerCall, unscaled: set[AccessPath], analysis: Analysis) -> str:
    """The unscaled optimizer that the object given was built around."""
    if not isinstance(given, ast.Name) or analysis.roles.path(given, call.frame) in unscaled:
        return ""
    found = analysis.evaluator.lookup(given.id, call.frame)
    if found is None or len(found[0]) != 1 or not isinstance(found[0][0].expr, ast.Call):
        return ""
    made, home = found[0][0].expr, found[1]
    for argument in (*made.args, *(word.value for word in made.keywords)):
        if isinstance(argument, ast.Name | ast.Attribute) and analysis.roles.path(argument, home) in unscaled:
            return ast.unparse(argument)
    return ""

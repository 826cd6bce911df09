"""With the scaler and without it, training does not do the same to the gradients.

## What it does
Reports a clip or a `zero_grad` that only one branch of an AMP switch leads to, where one condition decides whether a
scaler steps an optimizer or the optimizer steps by itself, and a loss that only one of two such branches divides. A
clip on a condition of its own in one branch counts; one that both branches lead to is in neither alone: before them,
behind them, in a function that both call.

## Impact
Runs with and without the scaler are different trainings: in the example below the longest update was 3.34 learning
rates where the clipped one is 1.

## Why is this bad
It breaks nothing of the scaler's protocol. But the two precisions then train differently, with clipped gradients and
with others, and what a comparison of them shows is not the precision. A run that needs the clip to stay finite
diverges in one of them, and the precision is blamed.

## What happens at run time
Silent (torch 2.13, CPU): the longest update of the example was 3.34 learning rates with the scaler; clipped, it is 1.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16, enabled=scaler is not None):
            loss = loss_fn(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16, enabled=scaler is not None):
            loss = loss_fn(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
```

## Fix safety
No automatic fix: whether the clip belongs in both branches or in none, only the author knows.

## What it cannot see
Two branches of different conditions; optimizers that the branches name differently. Where a call that is not followed
may clip in the other branch, it says that it cannot tell. Gradients that one branch of a loop never zeroes are for
AMP212, a loss that a statement of its own divides without the scaler only is for AMP216.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.paths.unequal_branches import Side
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.static.values.access_paths import AccessPath

RULE = Rule(
    code="AMP220",
    name="unequal-branches",
    severity=Severity.MEDIUM,
    summary="gradients clipped or zeroed, or a loss divided, only with the scaler or only without it",
    remedy="do the same in both branches; clip between `scaler.unscale_(optimizer)` and `scaler.step(optimizer)`",
    words=("GradScaler", "unscale_", "scaler"),
    proof="update-norm",
)

_CLIPS = r"(?i)clip.*(grad|norm)|(grad|norm).*clip|max_norm"


def check(analysis: Analysis) -> Iterator[Match]:
    """The clips, zero_grads and divisions of one branch alone."""
    yield from _one_sided_events(analysis)
    for scale in analysis.scaler_calls:
        if scale.method == "scale" and scale.call.args:
            yield from _divided_in_one_branch(scale, analysis)


def _one_sided_events(analysis: Analysis) -> Iterator[Match]:
    """The clips and zero_grads of one branch, but for those whose counterpart may be a call that is not followed."""
    for report in analysis.violations(RULE.code):
        if _ends_the_run(report, analysis):
            continue
        if unseen := _may_clip(report, analysis):
            reason = f"`{statement_text(unseen)}` may do what `{statement_text(report.place)}` does in the other branch"
            analysis.gave_up(unseen, reason, RULE.code)
            continue
        yield Match(
            report.place,
            _message(report),
            certain=False,
            steps=report.path,
            assumes=report.assumes,
            settling=report.settling,
        )


def _ends_the_run(report: ViolationReport, analysis: Analysis) -> bool:
    """Whether no condition keeps an event from the other branch, but a method that None does not have."""
    own, other = report.path[-2][0], report.shown_at
    if report.place.function is not other.function or own == other:
        return False
    return analysis.path_conditions.agree(report.place, other)


def _message(report: ViolationReport) -> str:
    text, name = statement_text(report.place), report.optimizer.last_name if report.optimizer is not None else ""
    return f"`{text}` is for steps of `{name}` {_where(report.kind is Side.SCALER)}"


def _where(with_scaler: bool) -> str:
    where, elsewhere = ("with", "without") if with_scaler else ("without", "with")
    return f"{where} the scaler only: {elsewhere} it, training is another one"


def _may_clip(report: ViolationReport, analysis: Analysis) -> Location | None:
    """A call in the other branch that speaks of clipping and is no function that is known."""
    other = report.shown_at
    for call in other.function.calls:
        words = [last_name(call.func), *(word.arg or "" for word in call.keywords)]
        if not any(re.search(_CLIPS, word) for word in words) or _is_known(call, other, analysis):
            continue
        place = Location(other.function, call)
        if analysis.path_conditions.agree(place, other) and not analysis.path_conditions.agree(place, report.place):
            return place
    return None


def _is_known(call: ast.Call, around: Location, analysis: Analysis) -> bool:
    frame = analysis.evaluator.root_frame(around.function)
    return analysis.roles.known_name(call.func, frame).startswith("torch.")


# -- losses that one branch divides --------------------------------------------------------------------------------


def _divided_in_one_branch(scale: ScalerCall, analysis: Analysis) -> Iterator[Match]:
    """A loss that is divided where it is scaled, and in the other branch of a condition not, or the reverse."""
    here, loss = scale.place, scale.call.args[0]
    path = _undivided(loss, scale, analysis)
    if path is None:
        return
    for plain in scale.function.calls:
        there = Location(scale.function, plain)
        if not (isinstance(plain.func, ast.Attribute) and plain.func.attr == "backward"):
            continue
        if _undivided(plain.func.value, scale, analysis) != path or analysis.path_conditions.agree(here, there):
            continue
        scaled, derived = _division(loss, here), _division(plain.func.value, there)
        scaled = scaled or _dividing_statement(path, here, there, analysis)
        if scaled and not (derived or _dividing_statement(path, there, here, analysis)):
            place, with_scaler = scaled, True
        elif derived and not scaled:
            place, with_scaler = derived, False
        else:
            continue
        message = f"`{statement_text(place)}` divides the loss {_where(with_scaler)}"
        steps = (place, "divided"), (here, "with the scaler"), (there, "without it")
        yield Match(place, message, certain=False, remedy="divide the loss in both branches", steps=steps)
        return


def _undivided(loss: ast.expr, scale: ScalerCall, analysis: Analysis) -> AccessPath | None:
    """The variable that a loss is, or is a quotient of."""
    while isinstance(loss, ast.BinOp) and isinstance(loss.op, ast.Div):
        loss = loss.left
    return analysis.roles.path(loss, scale.frame) if isinstance(loss, ast.Name | ast.Attribute) else None


def _division(loss: ast.expr, around: Location) -> Location | None:
    return Location(around.function, loss) if isinstance(loss, ast.BinOp) else None


def _dividing_statement(path: AccessPath, here: Location, there: Location, analysis: Analysis) -> Location | None:
    """A statement before one place, and not on the way to the other, that divides a variable."""
    frame = analysis.evaluator.root_frame(here.function)
    for node in here.function.own_nodes:
        match node:
            case ast.AugAssign(target=target, op=ast.Div()):
                pass
            case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Div())):
                pass
            case _:
                continue
        place = Location(here.function, node)
        is_of_it = isinstance(target, ast.Name | ast.Attribute) and analysis.roles.path(target, frame) == path
        agrees = analysis.path_conditions.agree
        if is_of_it and place.line < here.line and agrees(place, here) and not agrees(place, there):
            return place
    return None

"""A hand-written check for inf and NaN skips the step and leaves the scaler's window open.

## What it does
Reports

- a condition on `isfinite`, `isnan`, the norm of the gradients and the like from which a way leads past the step, and
  without an `update()`, into the next window of an optimizer that was unscaled;
- a `zero_grad` behind such a condition and before the step: the scaler finds no inf, and never backs off;
- an exception behind one, where the scaler is still to meet its first overflows: they end the run (likely at most);
- a clip beside a scaler's step that raises by itself where the norm is not finite (`error_if_nonfinite=True`; likely).

## Impact
After the first overflow the run stops at the next `unscale_`, or steps with gradients that are 65,536 times too
large.

## Why is this bad
`update()` makes the scaler back off, and makes it forget that the optimizer was unscaled. Without it
the next `unscale_` raises; where only `step` unscales, it is worse: the scaler believes the new gradients are
unscaled already, and steps with gradients multiplied by the scale. And a scale that is too large stays too large.

## What happens at run time
Raises at the next `unscale_`: `RuntimeError: unscale_() has already been called on this optimizer since the last
update().` Silent without it (torch 2.13, CPU: a weight moved to 1107). Either needs an overflow to show, which a
short test on a CPU never meets.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            continue
        scaler.step(optimizer)
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
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: `scaler.step` skips by itself, so the check can often go; otherwise its way out needs `update()`.

## What it cannot see
Checks whose variables lead neither to a norm of gradients nor to isfinite, isinf, isnan, found_inf or overflow; skip
paths through code outside the project.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.roles import ScalerKind
from verifygate.static.analysis import Analysis
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.paths.finite_checks import raises
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

RULE = Rule(
    code="AMP214",
    name="skip-guard-breaks-scaler",
    severity=Severity.HIGH,
    summary="a finite check whose skip path leaves the scaler without update()",
    remedy="leave the check to `scaler.step`, or call `scaler.update()` on the way out too",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error-inf",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """The violations of the table that bear this code, each worded after what the check does."""
    for report in analysis.violations(RULE.code):
        text = statement_text(report.place)
        yield Match(
            report.place,
            _message(report, text),
            certain=report.certain,
            steps=report.path,
            assumes=report.assumes,
            settling=report.settling,
        )
    for function, calls in analysis.scaler_calls_in.items():
        if any(each.method == "step" and each.scaler.kind is not ScalerKind.IDLE for each in calls):
            yield from _raising_clips(function, analysis)


def _raising_clips(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Clips that raise where the norm is not finite, in a function where a scaler steps."""
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        given = next((word.value for word in call.keywords if word.arg == "error_if_nonfinite"), None)
        if given is not None and analysis.evaluator.truth(given, frame) is True:
            place = Location(function, call)
            message = "an overflow ends the run at this clip: the scaler is there to skip the step, and to back off"
            yield Match(place, message, certain=False, remedy="leave out `error_if_nonfinite`: `scaler.step` skips")


def _message(report: ViolationReport, text: str) -> str:
    if raises(report.place):
        return f"where `{text}` strikes, an overflow ends the run: the scaler is there to skip it, and to back off"
    if isinstance(report.place.node, ast.Call) and last_name(report.place.node.func) == "zero_grad":
        return f"`{text}` throws away gradients that have overflowed: the scaler finds no inf, and never backs off"
    return f"where `{text}` skips the step, the scaler's window stays open: no `update()`"

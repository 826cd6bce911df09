"""The optimizer steps by itself on gradients that a live scaler scaled.

## What it does
Reports `optimizer.step()` on gradients that came from a scaled backward: still scaled, or unscaled by hand but
without a check for inf and NaN. A direct step after `unscale_` behind the project's own finite check is left alone. A
comment beside them that says so ("do not unscale, we use Adam") makes the finding low: Adam divides the scale away, but
one inf still ends in NaN weights.

A step in a hook that the backward runs (`register_post_accumulate_grad_hook`) is such a step as well.

## Impact
SGD's updates are 65,536 times too large with the default scale, and a single overflow writes NaN into the weights for
good.

## Why is this bad
`scaler.step` does two things that `optimizer.step` does not: it unscales what is not unscaled yet, and it skips the
step when a gradient is inf or NaN. Without the first the update is tens of thousands of times too large; without the
second one overflow writes NaN into the weights for good.

## What happens at run time
Silent (torch 2.13, CPU: a weight moved by 5094 in one SGD step; Adam hides it, as it normalises the scale away).
A following `scaler.update()` raises `AssertionError: No inf checks were recorded prior to update.`

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
        optimizer.step()
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
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Unsafe: `scaler.step(optimizer)` may skip the step, which the code around it may not expect.

## What it cannot see
Optimizers stepped inside libraries; finite checks that do not name isfinite, isinf, isnan, found_inf or overflow.
A class whose set-up raises where it is given a scaler has none to go past.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
import re
from collections.abc import Iterable

from verifygate.base.records import replace
from verifygate.model import Applicability, Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.conditions.refused_objects import refuses
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.rule import Match, ProtocolMatch, Rule
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

RULE = Rule(
    code="AMP207",
    name="step-bypasses-scaler",
    severity=Severity.CRITICAL,
    summary="optimizer.step() on gradients that a live scaler scaled",
    remedy="call `scaler.step(optimizer)`, which unscales and skips steps with inf or NaN",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.UNSAFE,
    proof="inf-injection",
)

_by_protocol = ProtocolMatch(RULE, "`{text}` goes past the scaler that scaled these gradients")
_SAYS_WHY = re.compile(r"#(?=.*\bun-?scal)(?=.*\badam)(?=.*(?:\bnot?\b|n't\b|\bwithout\b|unnecessary))", re.IGNORECASE)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every direct step on scaled gradients."""
    for report in analysis.violations(RULE.code):
        if _is_refused(report, analysis):
            continue
        match = _by_protocol.match(report)
        yield replace(match, severity=Severity.LOW) if _is_meant(report) else match


def _is_refused(report: ViolationReport, analysis: Analysis) -> bool:
    """Whether all that scales on the path is an attribute which the class whose method steps refuses to have."""
    home: Function | None = report.place.function
    while home is not None and home.owner is None:
        home = home.enclosing
    made = home.owner if home is not None else None
    if made is None:
        return False
    line = analysis.evaluator.linearised(made)
    functions = dict.fromkeys(place.function for place, _ in report.path)
    scaled = [(call, each) for each in functions for call in each.calls if last_name(call.func) == "scale"]
    return bool(scaled) and all(
        (attribute := _own_attribute(call, each)) is not None
        and each.owner in line
        and refuses(made, attribute, analysis.evaluator)
        for call, each in scaled
    )


def _own_attribute(call: ast.Call, function: Function) -> str | None:
    """The attribute of its object that a method calls something of: `scaler` of `self.scaler.scale(loss)`."""
    match call.func:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=this), attr=name)):
            return name if function.parameters and function.parameters[0].arg == this else None
    return None


def _is_meant(report: ViolationReport) -> bool:
    """Whether a comment, from above the backward to the step, says that nothing is to be unscaled for Adam.

    Without a word of Adam it may as well mean that `scaler.step` would do it, which this step does not.
    """
    file = report.place.function.module.file
    lines = file.text.splitlines()
    backwards = [place.line for place, label in report.path if "backward" in label and place.path == file.path]
    first = max((line for line in backwards if line <= report.place.line), default=report.place.line)
    return any(_SAYS_WHY.search(line) for line in lines[max(first - 3, 0) : report.place.line])

"""Gradients are never zeroed, or zeroed where they are still needed.

## What it does
Reports

- a backward that adds to gradients which a step has already used, if nothing zeroes them;
- a `zero_grad` between a backward and its step;
- a `zero_grad` on every micro-batch of an accumulation, so that only the last micro-batch counts.

`model.zero_grad()`, `p.grad = None` and `p.grad.zero_()` are zeroing too. The rest of an epoch and a bad batch may be
discarded.

## Why is this bad
Gradients add up. Left over, they are unscaled ones that the next window's `unscale_` divides again, together with new
ones. Zeroed too early, they are gone: the step does nothing, or uses one micro-batch and a learning rate meant for
all.

## What happens at run time
Silent when left over or wiped within an accumulation (torch 2.13, CPU). Between backward and step the scaler raises
`AssertionError: No inf checks were recorded for this optimizer.`, or does a step with zeros if `set_to_none=False`.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Fix safety
No automatic fix: it is unknown where the window should begin.

## What it cannot see
Gradients zeroed by means that it cannot follow silence it, as do several optimizers, since a backward may be
another's. An accumulation is known by its condition: a remainder (`%`), or a name that says so. One that is set to a
single micro-batch is none.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

import re
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.rule import Match, Rule, statement_text

RULE = Rule(
    code="AMP212",
    name="zero-grad-misplaced",
    severity=Severity.HIGH,
    summary="gradients never zeroed, or zeroed before a step has used them",
    remedy="zero the gradients once per window, after `scaler.update()` or before the first backward",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="final-weights",
)

_TIMES = r"(?i)bench|speed|profil|throughput"
"""Functions that run steps to take their time: nobody keeps what these train."""


def check(analysis: Analysis) -> Iterator[Match]:
    """The violations of the table that bear this code, each worded after what shows it."""
    for report in analysis.violations(RULE.code):
        text = statement_text(report.place)
        only_timed = re.search(_TIMES, report.place.function.name) is not None
        yield Match(report.place, _message(report, text), certain=report.certain and not only_timed, steps=report.path)


def _message(report: ViolationReport, text: str) -> str:
    if report.place.node is report.shown_at.node:
        name = report.optimizer.last_name if report.optimizer is not None else ""
        return f"`{text}` adds to gradients that a step of `{name}` has used: nothing zeroes them in between"
    if "backward" in statement_text(report.shown_at):
        return f"`{text}` throws away what earlier micro-batches of the same window gave"
    return f"`{text}` throws away gradients before the step that is to use them"

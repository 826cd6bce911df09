"""The optimizer steps inside an autocast region.

## What it does
Reports `optimizer.step()` and `scaler.step(optimizer)` that are reached while an autocast region is active, in the
same function or through a call. Regions switched off with `enabled=False` do not count.

## Impact
Optimizers that multiply matrices take other steps: six of Muon in a float16 region moved weights by 1e-3; SGD and
Adam are unharmed.

## Why is this bad
A step updates float32 weights and must not be rounded. Inside a region autocast rounds whatever matrix product the
step computes: orthogonalising and preconditioning optimizers (Muon, Shampoo) take another direction. Element-wise
optimizers such as SGD and Adam compute the same, but the weights change under a region that may still hold casts of
the old ones: the next forward in it reads those (AMP104).

## What happens at run time
Silent. Seen on torch 2.13 (CPU): six steps of `torch.optim.Muon` inside a float16 region move weights by 1e-3 against
the same steps outside; SGD and Adam end in the same bits.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    matrices = [weight for weight in model.parameters() if weight.ndim == 2]
    optimizer = torch.optim.Muon(matrices, lr=0.02)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        with torch.autocast(device, dtype=torch.float16):
            scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    matrices = [weight for weight in model.parameters() if weight.ndim == 2]
    optimizer = torch.optim.Muon(matrices, lr=0.02)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe for a finding that is certain: everything from the statement to the end of the `with` block moves out of it, so the
order stays. No fix where any of that computes more than gradients and steps, or the region is no `with` of its own.

## What it cannot see
Regions entered in code outside the project; whether the optimizer at hand computes anything that autocast rounds. A
step in a region around several steps is a further place of AMP104, and no finding of its own.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from collections.abc import Iterable

from verifygate.model import Applicability, Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.region_spans import is_part_of_a_span
from verifygate.static.rule import Match, ProtocolMatch, Rule

RULE = Rule(
    code="AMP102",
    name="step-in-autocast",
    severity=Severity.MEDIUM,
    summary="the optimizer steps inside an autocast region",
    remedy="end the autocast region after the loss, before backward() and the step",
    words=("autocast",),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    proof="final-weights",
)

_by_protocol = ProtocolMatch(RULE, "`{text}` runs inside an autocast region")


def check(analysis: Analysis) -> Iterable[Match]:
    """Steps in a region, but for those in one around several steps: AMP104 reports that."""
    for report in analysis.violations(RULE.code):
        if not is_part_of_a_span(report, analysis):
            yield _by_protocol.match(report)

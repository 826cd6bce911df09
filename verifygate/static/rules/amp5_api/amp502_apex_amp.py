"""NVIDIA's apex.amp does mixed precision here.

## What it does
Reports calls of `apex.amp`: `initialize`, `scale_loss`, `master_params` and the rest.

## Impact
Precision is changed behind the code's back, by a library that is no longer developed, and its protocol is not checked
here.

## Why is this bad
apex.amp is in maintenance and has been superseded by torch's own AMP. Its opt levels patch functions and cast models
behind the code's back, its scaler is another one than torch's, and nothing here can check its protocol.

## What happens at run time
Nothing by itself, where apex is installed.

## Example
```python
from apex import amp


def train(model, loss_fn, optimizer, scaler, batches, device):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
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
No fix: the loop changes its shape.

## What it cannot see
apex's optimizers and layers, which are no AMP, and apex reached through a wrapper of another package.

## References
- https://github.com/NVIDIA/apex
"""

from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import ExternalName

RULE = Rule(
    code="AMP502",
    name="apex-amp",
    severity=Severity.LOW,
    summary="apex.amp does mixed precision here",
    remedy="use `torch.autocast` and `torch.amp.GradScaler`",
    words=("apex.amp", "from apex import"),
    no_proof="it needs the apex package, which torch replaced",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call of something in apex.amp."""
    for call, function in analysis.calls:
        if not function.module.mentions(b"apex.amp", b"from apex import"):
            continue
        values = analysis.evaluator.values(call.func, analysis.evaluator.root_frame(function))
        names = (
            value.name for value in values if isinstance(value, ExternalName)
        )  # beside None, where apex is not there
        if name := next((each for each in names if each.startswith("apex.amp.")), ""):
            yield Match(Location(function, call), f"`{name}` is superseded by torch's own AMP")

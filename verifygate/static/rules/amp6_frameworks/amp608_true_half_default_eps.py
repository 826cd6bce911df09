"""Adam with its default eps trains weights that a framework keeps in float16.

## What it does
Reports Adam, AdamW and their like, with an `eps` that float16 rounds to zero, in a LightningModule or behind a Fabric
whose precision is `16-true`.

- Certain if Trainer, or Fabric, and optimizer were followed to each other.
- Likely if the Trainer is another call of the same program.

## Impact
The weights become NaN within the first steps, and no scaler watches.

## Why is this bad
The optimizer's state is of the dtype of the weights. float16 ends at 6e-8: `eps=1e-8` is zero there, and squares of
gradients below 2e-4 are too. The update is then divided by zero.

## What happens at run time
Weights become NaN within the first steps. No scaler watches over `16-true`.
Seen with torch 2.13 and Lightning 2.6.

## Example
```python
import torch
from lightning.fabric import Fabric


def train(model, loss_fn, batches, device):
    fabric = Fabric(accelerator=device, devices=1, precision="16-true")
    optimizer = torch.optim.AdamW(model.into.parameters(), lr=1e-3)
    model, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        fabric.backward(1e-6 * loss_fn(model(inputs), targets))
        optimizer.step()
```

## Use instead
```python
import torch
from lightning.fabric import Fabric


def train(model, loss_fn, batches, device):
    fabric = Fabric(accelerator=device, devices=1, precision="16-true")
    optimizer = torch.optim.AdamW(model.into.parameters(), lr=1e-3, eps=1e-4)
    model, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        fabric.backward(1e-6 * loss_fn(model(inputs), targets))
        optimizer.step()
```

## Fix safety
No fix: `16-mixed`, which keeps the weights in float32, is the better way out.

## What it cannot see
Optimizers of other libraries, and an `eps` that is a setting.

## References
- https://lightning.ai/docs/pytorch/stable/common/precision_intermediate.html
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.idioms.framework_loops import judged
from verifygate.static.idioms.framework_optimizers import WORDS, framework_optimizers
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import Frame, Literal

RULE = Rule(
    code="AMP608",
    name="true-half-default-eps",
    severity=Severity.HIGH,
    summary="Adam with its default eps trains weights that a framework keeps in float16",
    remedy='ask for `precision="16-mixed"`, which keeps the weights in float32; or give the optimizer `eps=1e-4`',
    words=WORDS,
    proof="final-weights",
)
_EPS_POSITION = 3
_DEFAULT_EPS = 1e-8
_SMALLEST = 6e-8
"""Below it float16 has only zero."""
_NAMES = frozenset(f"torch.optim.{name}" for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam"))


def check(analysis: Analysis) -> Iterable[Match]:
    """Optimizers that a LightningModule builds for itself, or that a Fabric is given."""
    for built in framework_optimizers(analysis):
        if built.name not in _NAMES or not built.handle.may_be(Precision.TRUE_FLOAT16):
            continue
        eps = _eps(built.call, built.frame, analysis)
        if eps is not None and eps < _SMALLEST:
            place = Location(built.frame.function, built.call)
            message = f"`{statement_text(place)}` divides by an eps that is zero in the float16 of the weights"
            steps = ((place, "the optimizer"),)
            match = judged(place, message, built.handle, steps, precisions=(Precision.TRUE_FLOAT16,))
            if match is not None:
                yield match


def _eps(call: ast.Call, frame: Frame, analysis: Analysis) -> float | None:
    """The eps of an optimizer, where it is known."""
    if any(word.arg is None for word in call.keywords) or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    given = [*call.args[_EPS_POSITION : _EPS_POSITION + 1], *(w.value for w in call.keywords if w.arg == "eps")]
    if not given:
        return _DEFAULT_EPS
    match analysis.evaluator.values(given[0], frame):
        case (Literal(value=float() | int() as eps),):
            return float(eps)
    return None

"""A framework's whole training runs inside one autocast region.

## What it does
Reports `trainer.fit(...)` of Lightning and `trainer.train()` of transformers inside an autocast region that is on.

- Certain if the trainer was followed to its constructor, and the region has no condition.
- Likely otherwise.

## Impact
Training stands still: each forward uses the casts of the first weights, and the loss of the second epoch is that of
the first.

## Why is this bad
Autocast keeps the casts of weights until the outermost region is left. Here that is after the last step: each forward
uses the casts of the first weights, and training stands still. The framework's own region is an inner one, so it
forgets nothing.

## What happens at run time
Nothing raises. The loss of the second epoch is that of the first.
Seen with torch 2.13 and Lightning 2.6.

## Example
```python
import lightning
import torch
from torch.utils.data import DataLoader


class Net(lightning.LightningModule):
    def __init__(self, model, loss_fn):
        super().__init__()
        self.model, self.loss_fn = model, loss_fn

    def training_step(self, batch, number):
        return self.loss_fn(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def train(model, loss_fn, batches, device):
    trainer = lightning.Trainer(accelerator=device, max_epochs=1, logger=False, enable_checkpointing=False)
    with torch.autocast(device, dtype=torch.bfloat16):
        trainer.fit(Net(model, loss_fn), DataLoader(batches, batch_size=None))
```

## Use instead
```python
import lightning
import torch
from torch.utils.data import DataLoader


class Net(lightning.LightningModule):
    def __init__(self, model, loss_fn):
        super().__init__()
        self.model, self.loss_fn = model, loss_fn

    def training_step(self, batch, number):
        return self.loss_fn(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def train(model, loss_fn, batches, device):
    trainer = lightning.Trainer(
        accelerator=device, max_epochs=1, precision="bf16-mixed", logger=False, enable_checkpointing=False
    )
    trainer.fit(Net(model, loss_fn), DataLoader(batches, batch_size=None))
```

## Fix safety
No fix: the precision has to be given to the framework instead.

## What it cannot see
A region that a caller in another file has entered.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
from collections.abc import Iterable

from verifygate.framework_names import LIGHTNING, TRANSFORMERS
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import ExternalResult, Frame, Object

RULE = Rule(
    code="AMP609",
    name="fit-in-autocast",
    severity=Severity.CRITICAL,
    summary="a framework's whole training runs inside one autocast region",
    remedy="end the region before the training begins, and give the precision to the framework",
    words=("autocast",),
    proof="loss-progress",
)
_METHODS = {"fit": LIGHTNING.makers, "train": TRANSFORMERS.hosts}


def check(analysis: Analysis) -> Iterable[Match]:
    """Calls that run a training, with a region around them."""
    for function in analysis.functions:
        if not function.module.mentions(b"autocast") or not function.module.mentions(b".fit(", b".train("):
            continue
        for call in function.calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
                continue
            frame = analysis.evaluator.root_frame(function)
            known = _trains(call.func, frame, analysis)
            cover = analysis.region_coverage.cover(call, function) if known is not None else None
            if cover is None or known is None or not cover.region.region.caches or not cover.region.is_active:
                continue
            place = Location(function, call)
            yield Match(
                place,
                f"`{statement_text(place)}` trains inside a region that keeps the first weights' casts to the end",
                certain=known and cover.certain and cover.region.region.enabled is None,
                steps=((cover.region.place, "the region"), (place, "the training")),
            )


def _trains(method: ast.Attribute, frame: Frame, analysis: Analysis) -> bool | None:
    """Whether a method surely is the one that trains; None where it is another's."""
    values = analysis.frameworks.values_at(method.value, frame)
    hits = [each for each in values if _is_trainer(each, method.attr, analysis)]
    return len(hits) == len(values) if hits else None


def _is_trainer(value: object, method: str, analysis: Analysis) -> bool:
    match value:
        case ExternalResult(name=name):
            return name in _METHODS[method] or (
                method == "train" and name.startswith("trl.") and name.endswith("Trainer")
            )
        case Object(made=made):
            own = any(method in each.methods for each in analysis.evaluator.linearised(made))
            return not own and not analysis.evaluator.outside_bases(made).isdisjoint(_METHODS[method])
    return False

"""A framework does mixed precision here.

## What it does
Notes where precision is delegated to a framework: `precision=` of a Lightning Trainer or Fabric, `mixed_precision=` of
an Accelerator, `fp16=` or `bf16=` of Hugging Face's TrainingArguments.

## Impact
None by itself: the loop's protocol is the framework's, and a requirement of explicit AMP is not met this way.

## Why is this bad
It is not. The frameworks use torch's own autocast and GradScaler. But a project whose specification asks for explicit
AMP in its own loop does not meet it this way, and a scaler of one's own on top of a framework's scales twice.

## What happens at run time
Nothing by itself.

## Example
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, scaler, batches, device):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        accelerator.backward(loss_fn(model(inputs), targets))
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
No fix: it is a note.

## What it cannot see
Precision set in a configuration file, or passed as `**kwargs`.

## References
- https://lightning.ai/docs/pytorch/stable/common/precision_basic.html
"""

from collections.abc import Iterable

from verifygate import torch_names
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.inventory import delegates
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="AMP503",
    name="delegated-precision",
    severity=Severity.INFO,
    summary="a framework does mixed precision here",
    remedy="nothing to do, unless the specification asks for explicit AMP in the project's own loop",
    words=tuple(sorted({f"{name.rpartition('.')[2]}(" for name in torch_names.DELEGATES})),
    no_proof="it is a note: nothing is wrong with the code",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call that switches a framework's mixed precision on."""
    for call, function in analysis.calls:
        name = analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function))
        if delegates(name, call):
            yield Match(Location(function, call), f"mixed precision is delegated to `{name}`")

"""Gradients are clipped after the step that they were clipped for.

## What it does
Reports a clip of gradients that a step has used already, in the same iteration of the loop, or in a hook that a
framework calls between the step and the next backward: `on_step_end`, `on_optimizer_step` and `on_step_begin` of a
callback of transformers, `on_before_zero_grad` of Lightning (likely there).

## Impact
Training runs without any clipping, although code and logs say otherwise.

## Why is this bad
The step has read the gradients: clipping them now changes nothing but memory. The run trains without any clipping,
though code and logs say otherwise, and one bad batch moves the weights as far as it likes.

## What happens at run time
Silent on every torch (seen on 2.13, CPU): the weights are those of a run without the clip.

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
        scaler.step(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
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
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: a clip that starts to work changes the training.

## What it cannot see
Clips of parameters that no optimizer in sight steps; clips after `optimizer.zero_grad()`. One whose norm a test
compares with another is left alone.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.idioms import framework_scalers
from verifygate.static.rule import Match, ProtocolMatch, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="AMP211",
    name="clip-after-step",
    severity=Severity.HIGH,
    summary="a clip after the step it was meant for",
    remedy="clip between `scaler.unscale_(optimizer)` and `scaler.step(optimizer)`",
    words=("clip_grad",),
    beside=(
        r"clamp_\(|nan_to_num_\(",
        r"grad\w*\.(?:data\.)?(?:clamp_|nan_to_num_)|num_\([^)\n]*grad",
    ),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="final-weights",
)

_by_protocol = ProtocolMatch(RULE, "`{text}` comes after the step that used these gradients: it has no effect")
_COMPARES = ("allclose", "isclose", "equal", "assertEqual", "assertAlmostEqual", "assert_close", "assert_allclose")


def check(analysis: Analysis) -> Iterator[Match]:
    """Clips after the step, but for those whose norm is compared with another: that is all they are for."""
    for match in (*_by_protocol(analysis), *framework_scalers.without_effect(analysis)):
        if not _is_compared(match.place, analysis):
            yield match


def _is_compared(clip: Location, analysis: Analysis) -> bool:
    around = analysis.enclosing.parent(clip.node, clip.function)
    targets = around.targets if isinstance(around, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return any(
        isinstance(node, ast.Name) and node.id in names
        for call in clip.function.calls
        if names and last_name(call.func) in _COMPARES
        for argument in call.args
        for node in walk(argument)
    )

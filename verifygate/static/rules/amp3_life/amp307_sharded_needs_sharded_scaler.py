"""A model that FSDP shards is trained with the plain GradScaler, or its gradients are clipped by torch's function.

## What it does
Reports a plain `GradScaler` in a program that wraps its model in `FullyShardedDataParallel`, and
`torch.nn.utils.clip_grad_norm_` over the parameters of such a model.

## Why is this bad
Each rank holds a part of the gradients. The plain scaler looks for inf and NaN in its own part only: where one rank
finds some, it skips the step and halves its scale while the others step. The plain clip works out the norm of a part:
each rank divides by another number, none of them the model's norm, and the update is longer than the limit allows.

## What happens at run time
Silent (torch 2.13, two gloo ranks): the two norms differ, one rank steps where the other skips, and from there on their
losses are scaled by different numbers. The methods that ask all ranks are `ShardedGradScaler` and
`model.clip_grad_norm_`.

## Example
```python
import torch
from torch.distributed.fsdp import FullyShardedDataParallel


def train(model, loss_fn, batches, device):
    model = FullyShardedDataParallel(model, device_id=torch.device(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler(device, init_scale=2.0**10)
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

## Use instead
```python
import torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


def train(model, loss_fn, batches, device):
    model = FullyShardedDataParallel(model, device_id=torch.device(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = ShardedGradScaler(device, init_scale=2.0**10)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        model.clip_grad_norm_(1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: other ways to wrap the model, chosen elsewhere, may go with the plain scaler.

## What it cannot see
The strategy: with `NO_SHARD` each rank holds all gradients, and both are right. `fully_shard`, whose parameters are
DTensors, is left alone: torch's own scaler and clip know them. A file that names `ShardedGradScaler` chooses between
the two, and is left alone as well.

## References
- https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.made_scalers import MadeScaler
from verifygate.static.program import Function
from verifygate.static.roles import last_name
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.values import Made

RULE = Rule(
    code="AMP307",
    name="sharded-needs-sharded-scaler",
    severity=Severity.HIGH,
    summary="a sharded model with the plain GradScaler, or with torch's clip over its part of the gradients",
    remedy="use `ShardedGradScaler`, and clip with `model.clip_grad_norm_(max_norm)`",
    words=("FullyShardedDataParallel",),
    proof="rank-agreement",
)

_WRAPS = ("torch.distributed.fsdp.", "fairscale.")
_CLIPS = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Scalers beside a wrapped model, and clips over one."""
    wraps = [
        Place(function, call)
        for call, function in analysis.calls
        if _is_wrapper(analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function)))
    ]
    if not wraps:
        return
    for scaler in analysis.made_scalers:
        if scaler.off or scaler.sharded or scaler.function.module.mentions(b"ShardedGradScaler"):
            continue
        for wrap in wraps:
            if _go_together(scaler, wrap.function, analysis):
                own = wrap.function is scaler.function and scaler.enabled is None
                sure = own and not _depends(wrap, analysis) and not _depends(scaler.place, analysis)
                message = "the scaler looks for inf in one rank's part of the gradients: the model is sharded"
                yield Match(scaler.place, message, sure, steps=((wrap, "the model is sharded"),))
                break
    yield from _clips(analysis)


def _is_wrapper(name: str) -> bool:
    return name.endswith(".FullyShardedDataParallel") and name.startswith(_WRAPS)


def _depends(place: Place, analysis: Analysis) -> bool:
    return bool(analysis.nesting.conditions(place.node, place.function))


def _go_together(scaler: MadeScaler, function: Function, analysis: Analysis) -> bool:
    """Whether one run has both: they stand in one file, or something calls both."""
    if scaler.function.module is function.module:
        return True
    return bool(analysis.callers.above(scaler.function) & analysis.callers.above(function))


def _clips(analysis: Analysis) -> Iterator[Match]:
    """Clips of torch over `model.parameters()`, where the model is a wrapped one."""
    for call, function in analysis.calls:
        if last_name(call.func) != "clip_grad_norm_" or not call.args:
            continue
        frame = analysis.evaluator.root_frame(function)
        if analysis.roles.known_name(call.func, frame) not in _CLIPS:
            continue
        match call.args[0]:
            case ast.Call(func=ast.Attribute(value=model, attr="parameters")):
                values = analysis.evaluator.values(model, frame)
                if any(isinstance(value, Made) and _is_wrapper(value.name) for value in values):
                    place = Place(function, call)
                    message = f"`{statement_text(place)}` clips by the norm of one rank's part of the gradients"
                    yield Match(place, message, certain=len(values) == 1)

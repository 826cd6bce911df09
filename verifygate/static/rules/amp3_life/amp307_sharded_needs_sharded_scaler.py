"""A model that FSDP shards is trained with the plain GradScaler, or its gradients are clipped by torch's function.

## What it does
Reports a plain `GradScaler` in a program that wraps its model in `FullyShardedDataParallel`, and
`torch.nn.utils.clip_grad_norm_` over the parameters of such a model; the clip also where Lightning, Fabric or
Accelerate wrap it by their FSDP strategy or plugin.

## Impact
One rank skips a step that the others take, or each clips by a norm of its own: the ranks' weights drift apart.

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
A strategy that is chosen at run time: with `NO_SHARD` each rank holds all gradients, and both are right. `fully_shard`,
whose parameters are DTensors, is left alone: there torch's own scaler and clip ask all ranks (torch 2.13). A file that
names `ShardedGradScaler` chooses between the two scalers, a function that names the model's own `clip_grad_norm_`
between the two clips, and one that says FSDP2 means `fully_shard`; all three are left alone as well.

## References
- https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
"""

import ast
import re
from collections.abc import Iterator

from verifygate.framework_names import ACCELERATE, FABRIC, LIGHTNING
from verifygate.model import Severity, Witness
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.framework_sharding import sharded_by
from verifygate.static.idioms.fsdp import Sharding
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue

_CLASS = "FullyShardedDataParallel"

RULE = Rule(
    code="AMP307",
    name="sharded-needs-sharded-scaler",
    severity=Severity.HIGH,
    summary="a sharded model with the plain GradScaler, or with torch's clip over its part of the gradients",
    remedy="use `ShardedGradScaler`, and clip with `model.clip_grad_norm_(max_norm)`",
    words=("GradScaler", "clip_grad"),
    witnesses=(Witness.STATIC, Witness.RUN),
    beside=(rf"{_CLASS}(?:\(| as|,|(?<=\({_CLASS})|(?<== {_CLASS})(?!\.))",),
    proof="rank-agreement",
)

_CLIPS = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"})
_REMEDIES = {
    ACCELERATE: "clip by `accelerator.clip_grad_norm_(model.parameters(), max_norm)`, which asks all ranks",
    FABRIC: "clip by `fabric.clip_gradients(module, optimizer, max_norm=...)`, which asks all ranks",
    LIGHTNING: "call the sharded model's own `self.trainer.model.clip_grad_norm_(max_norm)`, which asks all ranks",
}
_DTENSORS = r"(?i)fsdp_?v?2|fsdp_version == 2|fully_shard"


def check(analysis: Analysis) -> Iterator[Match]:
    """Scalers beside a wrapped model, and clips over one."""
    yield from _clips_beside_a_framework(analysis)
    sharding = Sharding(analysis)
    if not sharding.wraps:
        return
    for scaler in analysis.scaler_allocations:
        if scaler.off or scaler.sharded or _is_one_of_two(scaler, analysis):
            continue
        if _is_for_dtensors(scaler.place, analysis):
            continue
        for wrap in sharding.wraps:
            related = analysis.evaluator.may_be_of_one_object(wrap.place.function, scaler.function)
            if sharding.together(wrap.place, scaler.place, unless_told=related):
                own = wrap.place.function is scaler.function and scaler.enabled is None
                sure = own and wrap.sure and not (_depends(wrap.place, analysis) or _depends(scaler.place, analysis))
                message = "the scaler looks for inf in one rank's part of the gradients: the model is sharded"
                yield Match(scaler.place, message, sure, steps=((wrap.place, "the model is sharded"),))
                break
    yield from _clips(sharding, analysis)


def _is_one_of_two(scaler: ScalerAllocation, analysis: Analysis) -> bool:
    """Whether a sharded scaler is built beside it, for models that are sharded: in the function, or its class."""
    owner = scaler.function.owner
    homes = [scaler.function, *(owner.methods.values() if owner is not None else ())]
    built = {each.function for each in analysis.scaler_allocations if each.sharded}
    return any(
        home in built or any(last_name(call.func) == "ShardedGradScaler" for call in home.calls) for home in homes
    )


def _is_for_dtensors(place: Location, analysis: Analysis) -> bool:
    """Whether the function, or a condition around the place, says that it is about `fully_shard`."""
    asked = [ast.unparse(test) for test, holds in analysis.enclosing.conditions(place.node, place.function) if holds]
    return any(re.search(_DTENSORS, text) for text in (place.function.name, *asked))


def _depends(place: Location, analysis: Analysis) -> bool:
    return bool(analysis.enclosing.conditions(place.node, place.function))


def _clips(sharding: Sharding, analysis: Analysis) -> Iterator[Match]:
    """Clips of torch over `model.parameters()`, where the model is a wrapped one."""
    for place, model in _torchs_clips(analysis):
        function = place.function
        found, only = sharding.wraps_of(model, function)
        together = (wrap for wrap in found if sharding.together(wrap.place, place, unless_told=True))
        wraps = [wrap for wrap in together if not _goes_to_an_heir(wrap.place, function, analysis)]
        if wraps and not sharding.is_spared(place, model):
            message = f"`{statement_text(place)}` clips by the norm of one rank's part of the gradients"
            steps = tuple((wrap.place, "the model is sharded") for wrap in wraps[:1])
            yield Match(place, message, certain=only and all(wrap.sure for wrap in wraps), steps=steps)


def _torchs_clips(analysis: Analysis) -> Iterator[tuple[Location, ast.expr]]:
    """The calls of torch's clip, each with the model whose parameters it is given."""
    for call, function in analysis.calls:
        if last_name(call.func) != "clip_grad_norm_":
            continue
        frame = analysis.evaluator.root_frame(function)
        model = _model_of(call, function)
        if model is not None and analysis.roles.known_name(call.func, frame) in _CLIPS:
            yield Location(function, call), model


def _clips_beside_a_framework(analysis: Analysis) -> Iterator[Match]:
    """Clips of torch over a model that a framework shards."""
    for place, model in _torchs_clips(analysis) if analysis.frameworks.instances else ():
        handle = sharded_by(model, place.function, analysis)
        if handle is not None and handle.place is not None:
            message = f"`{statement_text(place)}` clips by the norm of one rank's part of the gradients"
            steps = ((handle.place, f"{handle.framework.name} shards the model"),)
            yield Match(place, message, certain=handle.followed, steps=steps, remedy=_REMEDIES[handle.framework])


def _goes_to_an_heir(wrap: Location, clipping: Function, analysis: Analysis) -> bool:
    """Whether the sharded model is put into an object of a class that clips in a way of its own."""
    frame = analysis.evaluator.root_frame(wrap.function)
    made = {
        value.made
        for call in wrap.function.calls
        if last_name(call.func)[:1].isupper()
        for value in analysis.evaluator.values(call.func, frame)
        if isinstance(value, ClassValue) and value.made is not clipping.owner
    }
    return any(clipping.owner in analysis.evaluator.linearised(each) and clipping.name in each.methods for each in made)


def _model_of(clip: ast.Call, function: Function) -> ast.expr | None:
    """The model whose parameters are clipped: `model.parameters()`, a filter or a list of them, or a name of that."""
    given = [*clip.args[:1], *(word.value for word in clip.keywords if word.arg == "parameters")]
    if given and isinstance(given[0], ast.Name):
        bound = function.scope.names.get(given[0].id, ())
        given = [bound[0].expr] if len(bound) == 1 and bound[0].expr is not None else []
    for node in walk(given[0]) if given else ():
        match node:
            case ast.Call(func=ast.Attribute(value=model, attr="parameters"), args=[], keywords=[]):
                return model
    return None

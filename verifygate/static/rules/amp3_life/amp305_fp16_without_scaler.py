"""Training runs under float16 autocast with no scaler.

## What it does
Reports an autocast region in float16 whose loss is back-propagated and stepped on with no GradScaler anywhere in the
program. float16 counts where it is written, and where it is the default: `torch.cuda.amp.autocast()`,
`torch.autocast("cuda")` without a dtype, and `torch.autocast(device.type)` where the device may be CUDA. A scaler that
is built only where the device is CUDA, over a region that is on for every device, counts as none where the program
knows of other accelerators. So does a model that FSDP runs in float16 by `param_dtype` of its policy.

## Impact
Gradients below 3e-8 become zero, and those below 6e-5 lose digits: layers stop learning without an error.

## Why is this bad
Gradients below about 3e-8 become zero in float16, and those below 6e-5 lose digits. Small gradients are what most of
a network has once training is under way: whole layers stop learning, without any error.

## What happens at run time
Silent on every torch (seen on 2.13, CPU): gradients below 3e-8 are zero under float16 autocast, and are there with
a scale of 65536.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
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
No fix: a scaler needs `unscale_` wherever gradients are touched, and a place in checkpoints. bfloat16 needs none, where
the device computes in it.

## What it cannot see
A loss that a function outside the project back-propagates; regions whose dtype comes from a configuration; a loss that
another model computes from the region's results, because the gradients may all be that model's. A loss that another
function back-propagates, and a sharding policy, are followed, but never reported as certain.

A framework keeps the rule silent where it holds the step of this loss: the optimizer is what `accelerator.prepare`,
`deepspeed.initialize` or the like gave back, or the class is a `LightningModule`. So does a scaler where this loss can
get to it: scaled in the same function, or handed to what scales. One that scales only elsewhere in the program makes
the finding likely. Where it cannot be told whether something scales the loss, there is no finding, and the place is
among those not followed. Models that compute in float16 by themselves are reported only if their whole `forward` does,
some code builds or registers the class, and what trains it is seen to run it, or nothing else in the program scales.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
from collections.abc import Collection, Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.autograd_contexts import GradMode
from verifygate.static.amp.roles import identifiers
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.dtype_predicates import requires_bfloat16
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.facts.scaler_regions import Use
from verifygate.static.facts.step_tensors import names_in
from verifygate.static.idioms.fsdp import holds_one
from verifygate.static.idioms.loss_flow import backwards, bound_exprs, worked_out_from
from verifygate.static.idioms.scaled_elsewhere import ScaledElsewhere
from verifygate.static.idioms.sharding_policies import is_run_of, policies_of_float16
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.import_graph import Files
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue

RULE = Rule(
    code="AMP305",
    name="fp16-without-scaler",
    severity=Severity.HIGH,
    summary="training runs under float16 autocast with no scaler",
    remedy="scale the loss with a `torch.amp.GradScaler`, or compute in bfloat16",
    words=("autocast", "GradScaler", "MixedPrecision"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="gradient-flush",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every region in float16 whose loss is back-propagated as it is."""
    seen: set[Function] = set()
    elsewhere = ScaledElsewhere(analysis)
    for region in analysis.written_regions.all:
        function = region.function
        # a device that only a configuration knows may well be a CPU, where the default is bfloat16
        dtypes = analysis.region_dtypes.of(region, AssumedDevice.CUDA_IF_NAMED)
        if not region.is_active or function in seen:
            continue
        if Dtype.FLOAT16 not in dtypes:
            if Dtype.UNKNOWN in dtypes and _would_need_one(region, elsewhere, analysis):
                seen.add(function)
                reason = "the dtype of this region cannot be told: its loss is not scaled, as float16 would need it"
                analysis.gave_up(region.place, reason, RULE.code)
            continue
        if analysis.region_dtypes.follows_device(region) and _sets_the_default(function, analysis):
            seen.add(function)
            analysis.gave_up(region.place, "which dtype torch's global switch leaves to this region", RULE.code)
            continue
        found = _backward(region, analysis) if _steps(function, analysis) else None
        if found is None:
            if (match := _in_another_function(region, dtypes, elsewhere, analysis)) is not None:
                seen.add(function)
                yield match
            continue
        backward, sure = found
        if _is_scaled(backward, region.binds, function, elsewhere, analysis):
            continue
        seen.add(function)
        yield Match(
            region.place,
            "the loss of this float16 region is back-propagated without a scaler: small gradients become zero",
            certain=sure and dtypes == {Dtype.FLOAT16} and not elsewhere.has_rivals(function),
            steps=((region.place, "the region"), (Location(function, backward), "the backward")),
        )
    yield from _in_a_model(elsewhere, analysis)
    yield from _by_a_policy(elsewhere, analysis)
    yield from _inverted(analysis)
    yield from _for_cuda_only(analysis)


def _sets_the_default(function: Function, analysis: Analysis) -> bool:
    """Whether the program sets the dtype of regions that name none: `torch.set_autocast_dtype("cuda", dtype)`."""
    files = analysis.program.sources.each(analysis.import_graph.together(function.module.path))
    return any(b"set_autocast_dtype" in file.data or b"set_autocast_gpu_dtype" in file.data for file in files)


def _is_scaled(
    backward: ast.Call, losses: Collection[str], function: Function, elsewhere: ScaledElsewhere, analysis: Analysis
) -> bool:
    """Whether something scales the loss of a backward, or may: then the report says what could not be told."""
    receiver = backward.func.value  # type: ignore[attr-defined]
    scaling = elsewhere.changes(receiver, losses, function) or elsewhere.of(function, backward)
    if scaling is not None and scaling.unknown:
        analysis.gave_up(scaling.place, scaling.unknown, RULE.code)
    return scaling is not None


def _would_need_one(region: WrittenRegion, elsewhere: ScaledElsewhere, analysis: Analysis) -> bool:
    """Whether the loss of a region is back-propagated and stepped on in its function, and nothing scales it."""
    function = region.function
    if function.module.file.is_test or not _steps(function, analysis):
        return False
    found = _backward(region, analysis)
    if found is None:
        return False
    backward, sure = found
    receiver = backward.func.value  # type: ignore[attr-defined]
    losses = region.binds
    return sure and elsewhere.changes(receiver, losses, function) is None and elsewhere.of(function, backward) is None


def _in_another_function(
    region: WrittenRegion, dtypes: frozenset[Dtype], elsewhere: ScaledElsewhere, analysis: Analysis
) -> Match | None:
    """A region whose loss another function back-propagates: who calls, or what the loss is handed to."""
    if dtypes != {Dtype.FLOAT16} or _without_gradients(region, analysis):
        return None

    returned = {name for each in region.nodes if isinstance(each, ast.Return) for name in names_in(each)}
    for each in backwards(region.binds | returned, region.function, analysis):
        if not any(_steps(function, analysis) for function in each.through):
            continue
        if _is_scaled(each.call, (), each.function, elsewhere, analysis):
            continue
        if any(elsewhere.of(function, None) for function in each.through):
            continue
        steps = ((region.place, "the region"), (Location(each.function, each.call), "the backward"))
        return Match(
            region.place,
            "the loss of this float16 region is back-propagated without a scaler: small gradients become zero",
            certain=False,
            steps=steps,
        )
    return None


def _by_a_policy(elsewhere: ScaledElsewhere, analysis: Analysis) -> Iterable[Match]:
    """Models that FSDP runs in float16 by its policy, whose loss goes backward as it is."""
    for policy, shards in policies_of_float16(analysis).items():
        for function in analysis.functions:
            if not _steps(function, analysis) or function.module.file.is_test:
                continue
            frame = analysis.evaluator.root_frame(function)
            runs = [each for each in function.calls if any(is_run_of(shard, each, frame, analysis) for shard in shards)]
            names = {name for name, exprs in bound_exprs(function).items() for each in exprs if holds_one(each, runs)}
            worked_out = worked_out_from(names, function, analysis)[0] if names else set()
            backward = next(
                (
                    call
                    for call in function.calls
                    if last_name(call.func) == "backward"
                    and (identifiers(call.func) & worked_out or holds_one(call.func, runs))
                ),
                None,
            )
            if backward is not None and not _is_scaled(backward, worked_out, function, elsewhere, analysis):
                yield Match(
                    policy,
                    "the sharded model computes in float16 by this policy, and nothing scales the loss: "
                    "small gradients become zero",
                    certain=False,
                    steps=((policy, "the policy"), (Location(function, backward), "the backward")),
                    remedy="scale the loss with a `ShardedGradScaler`, or compute in bfloat16",
                )
                break


def _in_a_model(elsewhere: ScaledElsewhere, analysis: Analysis) -> Iterable[Match]:
    """Models that run in float16 by themselves, where what trains them scales nothing."""
    for region in analysis.written_regions.all:
        function = region.function
        if not region.is_active or region.block is not function.node or function.name != "forward":
            continue
        dtypes = analysis.region_dtypes.of(region, AssumedDevice.CUDA_IF_NAMED)
        if _without_gradients(region, analysis) or dtypes != {Dtype.FLOAT16}:
            continue
        if not _is_built(function, analysis):
            continue
        for files in analysis.import_graph.programs(function.module.path):
            if (backward := _plain_backward(files, function, elsewhere, analysis)) is not None:
                yield Match(
                    region.place,
                    "this model computes in float16, and what trains it has no scaler: small gradients become zero",
                    certain=False,
                    steps=((region.place, "the region"), (backward, "the backward")),
                )
                break


def _is_built(forward: Function, analysis: Analysis) -> bool:
    """Whether some code names the class of a forward, or one that derives from it, as a value; or it is registered."""
    below = analysis.evaluator.below(forward.owner) if forward.owner is not None else []
    if any(made.node.decorator_list for made in below):
        return True
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and last_name(node) == made.node.name
        and any(
            isinstance(value, ClassValue) and value.made is made
            for value in analysis.evaluator.values(node, analysis.evaluator.root_frame(user))
        )
        for made in below
        for user in _naming(made.node.name.encode(), analysis)
        for node in user.own_nodes
    )


def _naming(name: bytes, analysis: Analysis) -> Iterator[Function]:
    for file in analysis.program.sources:
        module = analysis.program.module(file.path) if name in file.data else None
        yield from module.holding(name) if module is not None else ()


def _plain_backward(files: Files, forward: Function, elsewhere: ScaledElsewhere, analysis: Analysis) -> Location | None:
    """A backward of a loss, in a function that steps an optimizer, where nothing may scale the loss.

    First where the model is named. Where another function of the program scales, it must be seen to run the model.
    """
    known = [*analysis.program.sources.each(files)]
    trains = [file for file in known if b".backward(" in file.data]
    name = forward.owner.node.name.encode() if forward.owner is not None else b""
    trains.sort(key=lambda file: name not in file.data)
    for module in (analysis.program.module(file.path) for file in trains):
        for function in module.holding(b"backward") if module is not None else ():
            for node in function.calls:
                if last_name(node.func) != "backward" or node.args or not _steps(function, analysis):
                    continue
                if elsewhere.has_rivals(function) and not _runs(forward, function, analysis):
                    continue
                if not _is_scaled(node, (), function, elsewhere, analysis):
                    return Location(function, node)
    return None


def _runs(forward: Function, function: Function, analysis: Analysis) -> bool:
    """Whether some call in a function is seen to run a `forward`."""
    return any(forward in analysis.call_graph.callees(call, function) for call in function.calls)


def _backward(region: WrittenRegion, analysis: Analysis) -> tuple[ast.Call, bool] | None:
    """The backward of something that the region computed, or that was worked out from it in the same function.

    With whether it surely leads back into the region: what came to it from elsewhere may be all that has gradients.
    """
    calls = [node for node in region.function.calls if last_name(node.func) == "backward"]
    if not calls or _without_gradients(region, analysis):
        return None  # a name that both regions bind is no sign then that the backward is of this one
    worked_out, sure = worked_out_from(region.binds, region.function, analysis)
    for node in calls:
        if identifiers(node.func) & region.binds and not _is_bound_anew(node, region, worked_out):
            return node, True
    others = worked_out - region.binds
    return next(((node, sure) for node in calls if identifiers(node.func) & others), None)


def _is_bound_anew(backward: ast.Call, region: WrittenRegion, worked_out: Collection[str]) -> bool:
    """Whether the name that a backward is called on means something else by then than what the region computed."""
    names = [node for node in walk(backward.func) if isinstance(node, ast.Name) and node.id in region.binds]
    inside = set(region.nodes)
    for name in names:
        last = reaching(name.id, name, region.function)
        if last is None or any(
            each.node in inside or each.kind != "value" or each.expr is None or identifiers(each.expr) & {*worked_out}
            for each in last
        ):
            return False
    return bool(names)


def _without_gradients(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether what the region computes has no gradients: targets of a teacher, say."""
    frame = analysis.evaluator.root_frame(region.function)
    first = region.block.body[0]  # type: ignore[attr-defined]
    return analysis.roles.autograd.at(first, frame) is GradMode.OFF


def _steps(function: Function, analysis: Analysis) -> bool:
    """Whether an optimizer steps in the function, or is given it as the closure that it steps by."""
    return _step_of(function, "", analysis) or (
        function.enclosing is not None and _step_of(function.enclosing, function.name, analysis)
    )


def _step_of(function: Function, closure: str, analysis: Analysis) -> bool:
    """Whether an optimizer steps in a function: by a closure of that name, where there is one."""
    frame = analysis.evaluator.root_frame(function)
    return any(
        isinstance(node.func, ast.Attribute)
        and last_name(node.func) == "step"
        and (not closure or any(isinstance(given, ast.Name) and given.id == closure for given in node.args))
        and analysis.roles.is_optimizer(node.func.value, frame)
        for node in function.calls
    )


def _inverted(analysis: Analysis) -> Iterable[Match]:
    """Scalers that are on for bfloat16 only, over regions that may compute in float16."""
    for scaler in analysis.scaler_allocations:
        for use in [] if scaler.off else analysis.scaler_regions.uses(scaler):
            if not _is_for_bfloat16(use, analysis) or any(
                not _is_for_bfloat16(other, analysis) for other in _built_beside(scaler, analysis)
            ):
                continue
            for region in use.regions:
                may_be_float16 = Dtype.FLOAT16 in analysis.region_dtypes.of(region)
                if may_be_float16 and not analysis.condition_texts.is_on_for_bfloat16_only(region):
                    yield Match(
                        Location(use.function, use.call),
                        "the scaler is off for float16, in which the region may compute: small gradients become zero",
                        certain=False,
                        steps=((Location(use.function, use.call), "the scaler"), (region.place, "the region")),
                    )
                    break


def _is_for_bfloat16(use: Use, analysis: Analysis) -> bool:
    return any(requires_bfloat16(text, holds) for text, holds in analysis.scaler_regions.conditions(use))


def _built_beside(scaler: ScalerAllocation, analysis: Analysis) -> Iterator[Use]:
    """The other scalers that the same function builds: for float16 there may be one of its own."""
    for other in analysis.scaler_allocations:
        if other.function is scaler.function and other is not scaler and not other.off:
            yield from analysis.scaler_regions.uses(other)


def _for_cuda_only(analysis: Analysis) -> Iterable[Match]:
    """Scalers that are built for CUDA alone, over regions in float16 for every device."""
    seen: set[ast.Call] = set()
    for scaler in analysis.scaler_allocations:
        for use in [] if scaler.off else analysis.scaler_regions.uses(scaler):
            if use.call in seen or not use.regions or not analysis.accelerators.built_for_cuda_only(use):
                continue
            if any(not analysis.accelerators.built_for_cuda_only(each) for each in _built_beside(scaler, analysis)):
                continue
            region = next((each for each in use.regions if analysis.accelerators.left_alone(each)), None)
            if region is not None:
                seen.add(use.call)
                yield Match(
                    Location(use.function, use.call),
                    "there is a scaler only where the device is CUDA; the float16 region is on for every device",
                    certain=False,
                    steps=((Location(use.function, use.call), "the scaler"), (region.place, "the region")),
                )

"""Training runs under float16 autocast with no scaler.

## What it does
Reports an autocast region in float16 whose loss is back-propagated and stepped on with no GradScaler anywhere in the
program. float16 counts where it is written, and where it is the default: `torch.cuda.amp.autocast()`,
`torch.autocast("cuda")` without a dtype, and `torch.autocast(device.type)` where the device may be CUDA. A scaler that
is built only where the device is CUDA, over a region that is on for every device, counts as none where the program
knows of other accelerators. So does a model that FSDP runs in float16 by `param_dtype` of its policy.

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

Any mention of apex, deepspeed, accelerate or lightning in the file keeps the rule silent. So does a scaler, unless it
is only built, saved and restored, or only other functions use it and this one hands neither loss nor optimizer on: then
the finding is likely. Models that compute in float16 by themselves are reported only if their whole `forward` does,
some code builds or registers the class, and no file of the program mentions a scaler.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.naming import speaks_of_a_scaler
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.roles import identifiers
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.dtype_predicates import requires_bfloat16
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.facts.scaler_regions import Use
from verifygate.static.facts.step_tensors import is_loss_call, names_in
from verifygate.static.idioms.fsdp import holds_one
from verifygate.static.idioms.loss_flow import backwards, bound_exprs, worked_out_from
from verifygate.static.idioms.sharding_policies import is_run_of, policies_of_float16
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.import_graph import Files
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.symbols.sites import asks_whether_to, calm, turns_autograd_off
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

_ANOTHER_PROTOCOL = re.compile(
    rb"apex|deepspeed|(?:import|from)\s+accelerate\b|accelerator|lightning(?![a-z])|fabric|loss_scal|manual_backward"
)
_TRAINS = re.compile(rb"loss\w*\.backward\(")
_LOOK = frozenset({"print", "float", "isnan", "isfinite", "isinf", "append", "len"})
"""Functions that only look at a loss or an optimizer."""
_USES = frozenset({"scale", "unscale_", "step", "update"})
_OTHER_SCALERS = ("standardscaler", "minmaxscaler", "robustscaler")


def check(analysis: Analysis) -> Iterable[Match]:
    """Every region in float16 whose loss is back-propagated as it is."""
    seen: set[Function] = set()
    for region in analysis.written_regions.all:
        function = region.function
        # a device that only a configuration knows may well be a CPU, where the default is bfloat16
        dtypes = analysis.region_dtypes.of(region, AssumedDevice.CUDA_IF_NAMED)
        if not region.is_active or Dtype.FLOAT16 not in dtypes or function in seen:
            continue
        found = _backward(region, analysis) if _steps(function, analysis) else None
        if found is None:
            if (match := _in_another_function(region, dtypes, analysis)) is not None:
                seen.add(function)
                yield match
            continue
        backward, sure = found
        certain = sure and dtypes == {Dtype.FLOAT16}
        if _may_scale_otherwise(function.module, analysis) or _has_scaler(function, analysis):
            if not certain or not _left_out(function, analysis):
                continue
            certain = False
        seen.add(function)
        yield Match(
            region.place,
            "the loss of this float16 region is back-propagated without a scaler: small gradients become zero",
            certain=certain,
            steps=((region.place, "the region"), (Location(function, backward), "the backward")),
        )
    yield from _in_a_model(analysis)
    yield from _by_a_policy(analysis)
    yield from _inverted(analysis)
    yield from _for_cuda_only(analysis)


def _in_another_function(region: WrittenRegion, dtypes: frozenset[Dtype], analysis: Analysis) -> Match | None:
    """A region whose loss another function back-propagates: who calls, or what the loss is handed to."""
    if dtypes != {Dtype.FLOAT16} or _without_gradients(region, analysis):
        return None

    returned = {name for each in region.nodes if isinstance(each, ast.Return) for name in names_in(each)}
    for each in backwards(region.binds | returned, region.function, analysis):
        if not any(_steps(function, analysis) for function in each.through):
            continue
        if any(_may_be_scaled(function, analysis) for function in each.through):
            continue
        steps = ((region.place, "the region"), (Location(each.function, each.call), "the backward"))
        return Match(
            region.place,
            "the loss of this float16 region is back-propagated without a scaler: small gradients become zero",
            certain=False,
            steps=steps,
        )
    return None


def _may_be_scaled(function: Function, analysis: Analysis) -> bool:
    """Whether a scaler may be for a loss that passes through a function."""
    speaks = _may_scale_otherwise(function.module, analysis) or _has_scaler(function, analysis)
    return speaks and not _left_out(function, analysis)


def _by_a_policy(analysis: Analysis) -> Iterable[Match]:
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
            if backward is not None and not _may_be_scaled(function, analysis):
                yield Match(
                    policy,
                    "the sharded model computes in float16 by this policy, and nothing scales the loss: "
                    "small gradients become zero",
                    certain=False,
                    steps=((policy, "the policy"), (Location(function, backward), "the backward")),
                    remedy="scale the loss with a `ShardedGradScaler`, or compute in bfloat16",
                )
                break


def _in_a_model(analysis: Analysis) -> Iterable[Match]:
    """Models that run in float16 by themselves, in programs that train and have no word of a scaler anywhere."""
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
            if (backward := _plain_backward(files, function, analysis)) is not None:
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


def _plain_backward(files: Files, forward: Function, analysis: Analysis) -> Location | None:
    """A backward of a loss in a program that steps an optimizer and speaks of no way to scale.

    First where the model is named.
    """
    known = [*analysis.program.sources.each(files)]
    if any(_ANOTHER_PROTOCOL.search(file.data) or b"scaler" in file.data.lower() for file in known):
        return None
    trains = [file for file in known if _TRAINS.search(file.data) and b"zero_grad" in file.data]
    name = forward.owner.node.name.encode() if forward.owner is not None else b""
    trains.sort(key=lambda file: name not in file.data)
    for module in (analysis.program.module(file.path) for file in trains):
        for function in module.holding(b"backward") if module is not None else ():
            for node in function.calls:
                if last_name(node.func) == "backward" and _steps(function, analysis):
                    return Location(function, node)
    return None


def _may_scale_otherwise(module: Module, analysis: Analysis) -> bool:
    """Whether the file speaks of another way to scale, or uses anything that is called a scaler.

    One that is built, saved and restored, and nothing more, scales nothing.
    """
    if _ANOTHER_PROTOCOL.search(module.file.data) or any(
        call.function.module is module and call.method in _USES for call in analysis.scaler_calls
    ):
        return True
    if b"scaler" not in module.file.data.lower():
        return False
    idle = _only_kept(module)
    for node in walk(module.tree):
        if node in idle:
            continue
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if name is None and isinstance(node, ast.alias):
            name = node.name
        if isinstance(name, str) and speaks_of_a_scaler(name) and name.lower() not in _OTHER_SCALERS:
            return True
    return False


def _left_out(function: Function, analysis: Analysis) -> bool:
    """Whether only other functions use a scaler: this one, which steps itself, has no word of scaling."""
    if _ANOTHER_PROTOCOL.search(function.module.file.data):
        return False
    others = {call.function for call in analysis.scaler_calls if call.method == "scale"}
    names = (getattr(node, "id", None) or getattr(node, "attr", None) or "" for node in function.own_nodes)
    if not others or function in others or any("scal" in name.lower() for name in names):
        return False
    return not _hands_on(function)


def _hands_on(function: Function) -> bool:
    """Whether a function hands its optimizer or its loss to a call that may scale it."""
    used = {
        ast.unparse(call.func.value)
        for call in function.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("step", "backward")
    }
    return any(
        ast.unparse(each) in used
        for call in function.calls
        if not is_loss_call(call) and last_name(call.func) not in _LOOK
        for each in (*call.args, *(word.value for word in call.keywords))
    )


def _only_kept(module: Module) -> set[ast.AST]:
    """The nodes that name a scaler where it is built, bound, saved or restored, in a file that calls no `scale`."""
    found: set[ast.AST] = set()
    for node in walk(module.tree):
        match node:
            case ast.Attribute(attr="scale" | "unscale_"):  # not in a comment: that is a scaler laid aside
                return set()
            case ast.Attribute(value=kept, attr="state_dict" | "load_state_dict"):
                found.add(kept)
            case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                found.add(node)
            case ast.Call(func=made) if last_name(made) == "GradScaler":
                found.add(made)
            case ast.alias(name="GradScaler"):
                found.add(node)
    return found


def _backward(region: WrittenRegion, analysis: Analysis) -> tuple[ast.Call, bool] | None:
    """The backward of something that the region computed, or that was worked out from it in the same function.

    With whether it surely leads back into the region: what came to it from elsewhere may be all that has gradients.
    """
    calls = [node for node in region.function.calls if last_name(node.func) == "backward"]
    if not calls or _without_gradients(region, analysis):
        return None  # a name that both regions bind is no sign then that the backward is of this one
    for node in calls:
        if identifiers(node.func) & region.binds:
            return node, True
    worked_out, sure = worked_out_from(region.binds, region.function, analysis)
    return next(((node, sure) for node in calls if identifiers(node.func) & worked_out), None)


def _without_gradients(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether what the region computes has no gradients: targets of a teacher, say."""
    contexts = analysis.enclosing.contexts(region.context, region.function)
    contexts += [item.context_expr for item in getattr(region.block, "items", ())]
    return calm(region.function) or any(turns_autograd_off(each) and not asks_whether_to(each) for each in contexts)


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


def _has_scaler(function: Function, analysis: Analysis) -> bool:
    """Whether any program that runs the function speaks of a GradScaler, and uses it."""
    files = analysis.program.sources.each(analysis.import_graph.together(function.module.path))
    speaking = [file.path for file in files if b"GradScaler" in file.data]
    modules = [analysis.program.module(path) for path in speaking]
    return any(
        module is None or _may_scale_otherwise(module, analysis) or not _names_a_scaler(module) for module in modules
    )


def _names_a_scaler(module: Module) -> bool:
    """Whether what speaks of a GradScaler is code: a comment may say why there is none."""
    return any(
        (isinstance(node, ast.Call) and last_name(node.func) == "GradScaler")
        or (isinstance(node, ast.alias) and node.name == "GradScaler")
        for node in walk(module.tree)
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

"""A GradScaler is on where autocast computes in bfloat16.

## What it does
Reports a scaler that can be enabled while the regions whose losses it scales compute in bfloat16: always, because the
dtype is written there, or for one of the configurations between which the dtype is chosen. Also a condition that is
the wrong way round (on for bfloat16, off for float16), and one that names bfloat16 beside float16. A model that FSDP
runs in bfloat16 by the `param_dtype` of its policy counts as one of those regions, and so does what a framework
computes that is told bfloat16, in the code or by a configuration file: the step that Lightning runs, a model that
`prepare` or `setup` handed back, a scaled loss that is handed to the framework's backward.

## Impact
Each step pays for a pass over all gradients and a wait for the device, and steps may be skipped, with no gain in
precision.

## Why is this bad
bfloat16 has the exponent range of float32: no gradient that float32 holds flushes to zero in it, so there is nothing
for the scale to save. What is left is the cost: a multiplication, a pass over all gradients that looks for inf, a
synchronisation with the host in every step, and steps that may be skipped. Where the condition is the wrong way
round, float16 trains with no scaling at all (AMP305).

## What happens at run time
Silent on every torch with float32 weights; the gradients are the same after unscaling, and torch is given more
operations to get them (torch 2.13, counted). With bfloat16 weights, `unscale_` works on the CPU in 2.13 and is not
implemented on CUDA.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler = torch.amp.GradScaler(device)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler = torch.amp.GradScaler(device, enabled=False)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Unsafe: with the scaler off, a step whose gradients hold an inf is made, which the scaler skipped. Where every region is
written in bfloat16 the scaler gets `enabled=False`; where a variable chooses, a test of it; and a comparison with
bfloat16 is negated. No fix if the dtype is not visible where the scaler is built.

## What it cannot see
Dtypes from command lines and configuration files, unless the source lists what they may be. A scaler and regions
that no call connects.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from verifygate.configured_precision.setting import Setting
from verifygate.model import Applicability, Severity, Witness
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.constructor_arguments import built_by
from verifygate.static.amp.roles import ScalerOrigin
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.dtype_predicates import (
    allows_bfloat16,
    mentions_dtype,
    offers_bfloat16,
    requires_bfloat16,
    requires_float16,
)
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.facts.scaler_regions import Use
from verifygate.static.idioms.delegated_autocast import framework_of_a_loss
from verifygate.static.idioms.sharding_policies import shard_calls
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.values.domain import Frame

RULE = Rule(
    code="AMP304",
    name="bf16-with-scaler",
    severity=Severity.LOW,
    summary="a GradScaler is on where autocast computes in bfloat16",
    remedy="enable the scaler for float16 only: `enabled=(dtype == torch.float16)`",
    words=("GradScaler", "autocast", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.UNSAFE,
    proof="operations",
)


_BFLOAT16 = frozenset({Precision.BFLOAT16, Precision.TRUE_BFLOAT16})
_IS_CUDA = r"[\w.\[\]'\"]+\.type == 'cuda'|torch\.cuda\.is_available\(\)"


def check(analysis: Analysis) -> Iterable[Match]:
    """Every scaler that may be on for bfloat16."""
    for scaler in analysis.scaler_allocations:
        if not scaler.off:
            uses = analysis.scaler_regions.uses(scaler)
            for use in uses:
                yield from _judge(use, analysis)
            if not any(use.regions for use in uses):
                yield from _for_a_policy(scaler, analysis)
                yield from _for_a_framework(scaler, analysis)


def _for_a_policy(scaler: ScalerAllocation, analysis: Analysis) -> Iterable[Match]:
    """A scaler of no region, in a program whose model FSDP runs in bfloat16 by its policy."""
    for shard in shard_calls(analysis):
        dtypes = {policy.parameters for policy in shard.policies}
        if dtypes != {frozenset({Dtype.BFLOAT16})} or not analysis.path_conditions.agree(shard.place, scaler.place):
            continue
        if not analysis.call_graph.common(scaler.function, shard.function):
            continue
        asked = scaler.enabled is not None or bool(analysis.enclosing.conditions(scaler.call, scaler.function))
        if asked and any(
            mentions_dtype(text)
            for use in analysis.scaler_regions.uses(scaler)
            for text, _ in analysis.scaler_regions.conditions(use)
        ):
            continue
        yield Match(
            scaler.place,
            "the scaler scales losses that a sharded model computes in bfloat16 by its policy, which needs none",
            certain=not asked and shard.function is scaler.function,
            steps=((scaler.place, "the scaler"), (shard.policies[0].place, "the policy")),
        )
        return


def _for_a_framework(scaler: ScalerAllocation, analysis: Analysis) -> Iterable[Match]:
    """A scaler of no region, whose losses a framework computes in bfloat16."""
    if scaler.enabled is not None or analysis.enclosing.conditions(scaler.call, scaler.function):
        return
    own = ScalerOrigin(built_by(scaler.call, scaler.function))
    for call in analysis.scaler_calls:
        if call.method != "scale" or not call.is_built or call.scaler.origin != own or not call.call.args:
            continue
        handle = framework_of_a_loss(call.call, call.call.args[0], call.function, analysis)
        if handle is None or not handle.precisions or not handle.precisions <= _BFLOAT16:
            continue
        shown: list[tuple[Location | Setting, str]]
        shown = [(setting, "bfloat16 is configured here") for setting in handle.settings]
        shown += [(handle.place, "the precision")] if not shown and handle.place is not None else []
        yield Match(
            scaler.place,
            f"the scaler scales losses that {handle.framework.name} computes in bfloat16, which needs none",
            certain=handle.is_surely(*_BFLOAT16),
            steps=((scaler.place, "the scaler"), (call.place, "scales"), *shown),
        )
        return


def _dtypes(region: WrittenRegion, use: Use, analysis: Analysis) -> frozenset[Dtype]:
    """The dtypes of a region; of one that the class inherits whose method makes the scaler, those in its objects."""
    evaluator, made, dtype = analysis.evaluator, use.scaler.function.owner, region.region.dtype
    inherited = made is not None and region.function.owner in evaluator.linearised(made)[1:]
    if not inherited or dtype is None or dtype.frame is not evaluator.root_frame(region.function):
        return analysis.region_dtypes.of(region)
    return analysis.dtype_values.of(dtype.expr, evaluator.heirs_frame(region.function, made))


def _judge(use: Use, analysis: Analysis) -> Iterable[Match]:
    place = Location(use.function, use.call)
    conditions = analysis.scaler_regions.conditions(use)
    regions = use.regions or analysis.scaler_regions.in_models_of(use)
    dtypes = [_dtypes(region, use, analysis) for region in regions]
    steps = ((place, "the scaler"), *((region.place, "the region") for region in regions))
    misnamed = {*dtypes} == {frozenset({Dtype.FLOAT16})} and all(
        analysis.condition_texts.is_on_for_bfloat16_only(region) for region in regions
    )
    if not misnamed and any(requires_bfloat16(text, holds) for text, holds in conditions):
        yield Match(place, "the scaler is on for bfloat16, which needs none", steps=steps)
        return
    for_float16 = any(requires_float16(text, holds) for text, holds in conditions)
    if any(offers_bfloat16(text, holds) for text, holds in conditions) and not for_float16:
        yield Match(place, "the scaler is on for bfloat16 as well, which needs none", certain=False, steps=steps)
        return
    allowed = not for_float16 and any(allows_bfloat16(text, holds) for text, holds in conditions)
    asked = _compares_with_float16(conditions) or any(
        mentions_dtype(text)
        for text, _ in (() if allowed else conditions)
        if not _is_mere_switch(text) and not _switches_all(text, regions, analysis)
    )
    if dtypes and all(each == {Dtype.BFLOAT16} for each in dtypes):
        yield Match(place, "the scaler scales losses computed in bfloat16, which needs none", not asked, steps=steps)
    elif (
        not asked
        and not _chooses_float16(conditions, regions, analysis)
        and not _chosen_together(use, regions, analysis)
        and not _scales_float16_only(use, analysis)
        and (
            any(Dtype.BFLOAT16 in each and Dtype.FLOAT16 in each for each in dtypes)
            or _are_arms(regions, dtypes, analysis)
        )
    ):
        yield Match(place, "the scaler stays on when bfloat16 is chosen, which needs none", certain=False, steps=steps)


def _are_arms(regions: Sequence[WrittenRegion], dtypes: Sequence[frozenset[Dtype]], analysis: Analysis) -> bool:
    """Whether a condition chooses between a region for bfloat16 and one for float16."""
    arms: dict[int, dict[bool, frozenset[Dtype]]] = {}
    for region, of_region in zip(regions, dtypes, strict=True):
        for test, holds in analysis.enclosing.conditions(region.place.node, region.function):
            arms.setdefault(id(test), {})[holds] = of_region
    both = {frozenset({Dtype.BFLOAT16}), frozenset({Dtype.FLOAT16})}
    return any({*each.values()} == both for each in arms.values())


def _chooses_float16(
    conditions: Sequence[tuple[str, bool]], regions: Sequence[WrittenRegion], analysis: Analysis
) -> bool:
    """Whether what the scaler asks also chooses the dtype: `torch.float16 if on_gpu else torch.bfloat16`."""
    asked = {(text.partition(" ; ")[0], holds) for text, holds in conditions}
    for region in regions:
        dtype = region.region.dtype
        bindings = analysis.dtype_values.bindings(dtype.expr, dtype.frame) if dtype is not None else []
        exprs = [*(each.expr for each, _ in bindings), dtype.expr if dtype is not None else None]
        choices = [each for each in exprs if isinstance(each, ast.IfExp)]
        if not any(
            any(_is_one_question(ast.unparse(each.test), text) and holds is so for text, so in asked)
            and requires_float16(ast.unparse(chosen), True)
            for each in choices
            for chosen, holds in ((each.body, True), (each.orelse, False))
        ):
            return False
    return bool(regions)


def _scales_float16_only(use: Use, analysis: Analysis) -> bool:
    """Whether a scaler that is there in any case scales nothing where bfloat16 is chosen."""
    files = analysis.import_graph.together(use.function.module.path)
    own = ScalerOrigin(built_by(use.scaler.call, use.scaler.function))
    by_origin = analysis.scaler_calls_by_origin
    calls = (each for origin in (own, None) for each in by_origin.get(origin, ()) if each.method == "scale")
    scale_others = (
        not analysis.condition_texts.excludes_bfloat16(each.call, each.function)
        for each in calls
        if each.function.module.path in files
    )
    return next(scale_others, True) is False and not any(scale_others)


def _chosen_together(use: Use, regions: Sequence[WrittenRegion], analysis: Analysis) -> bool:
    """Whether a function gives the dtype and the scaler's switch in one tuple, and no bfloat16 with a scaler."""
    enabled = use.scaler.enabled
    drawn = _drawn(enabled.expr, enabled.frame, analysis) if enabled is not None else ()
    switches = {call: switch for call, switch, _ in drawn}
    for region in regions if switches else ():
        dtype = region.region.dtype
        beside = [
            _is_off_for_bfloat16(call, position, switches[call], frame, analysis)
            for call, position, frame in (_drawn(dtype.expr, dtype.frame, analysis) if dtype is not None else ())
            if call in switches
        ]
        if not beside or not all(beside):
            return False
    return bool(switches)


def _drawn(expr: ast.expr, frame: Frame, analysis: Analysis, depth: int = 2) -> Iterator[tuple[ast.Call, int, Frame]]:
    """The calls whose results an expression is a part of, also where it was handed in: with position and frame."""
    for binding, home in analysis.dtype_values.bindings(expr, frame):
        if binding.kind == "item" and isinstance(binding.expr, ast.Call):
            yield binding.expr, binding.position, home
        elif binding.kind == "parameter" and isinstance(expr, ast.Name) and depth:
            for _, bound in analysis.call_graph.given(expr.id, home.function):
                yield from _drawn(bound.expr, bound.frame, analysis, depth - 1)


def _is_off_for_bfloat16(call: ast.Call, dtype: int, switch: int, frame: Frame, analysis: Analysis) -> bool:
    """Whether each tuple that a call may give has False for the switch where it has bfloat16 for the dtype."""
    functions = {callee.function for callee in analysis.evaluator.callees(call, frame)}
    given = [(each, analysis.evaluator.root_frame(function)) for function in functions for each in function.returns]
    return bool(given) and all(
        isinstance(each, ast.Tuple)
        and len(each.elts) > max(dtype, switch)
        and (
            Dtype.BFLOAT16 not in analysis.dtype_values.of(each.elts[dtype], inside)
            or analysis.evaluator.truth(each.elts[switch], inside) is False
        )
        for each, inside in given
    )


def _is_one_question(test: str, other: str) -> bool:
    """Whether two conditions are one, or both ask if a device is CUDA: that of a parameter, and that of a setting."""
    return test == other or all(re.fullmatch(_IS_CUDA, each) for each in (test, other))


def _compares_with_float16(conditions: Sequence[tuple[str, bool]]) -> bool:
    """Whether a condition asks if the dtype is float16, where the region asks the same."""
    firsts = [(text.partition(" ; ")[0], holds) for text, holds in conditions]
    return any(requires_float16(*each) and re.search(r"==|\bis\b", each[0]) for each in firsts)


def _is_mere_switch(text: str) -> bool:
    """Whether a condition only asks if there is mixed precision, as `options.mixed_precision` does, and not which."""
    return not re.search(r"(?i)[=<>]=|!=|\b(?:in|is|not)\b|16|half|dtype", text)


def _switches_all(text: str, regions: Sequence[WrittenRegion], analysis: Analysis) -> bool:
    """Whether every region has the same condition, perhaps under another name.

    It says if there is mixed precision then, and not in which dtype.
    """
    switches = [region.region.enabled for region in regions]
    explained = analysis.condition_texts.with_definitions
    theirs = [explained(each.expr, each.frame) if each is not None else "" for each in switches]
    return bool(theirs) and all(
        each and (each == text or _ends_in(text, each) or _ends_in(each, text) or _is_same_option(text, each))
        for each in theirs
    )


def _is_same_option(text: str, other: str) -> bool:
    """Whether two conditions read one attribute, of what may be the same options: `args.amp` and `self.args.amp`."""
    ours, theirs = (each.partition(" ; ")[0].split(".") for each in (text, other))
    return len(ours) > 1 and ours == theirs[-len(ours) :] and all(each.isidentifier() for each in theirs)


def _ends_in(text: str, other: str) -> bool:
    """Whether a condition is but a name for another: `amp ; args.precision is not None` for the latter."""
    return text.partition(" ; ")[0].isidentifier() and text.partition(" ; ")[2] == other

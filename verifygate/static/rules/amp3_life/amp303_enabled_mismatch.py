"""Scaler and autocast are switched by different conditions.

## What it does
Reports a scaler and a region of the same training that are not switched on and off together:
- a float16 region that is always on (or on every GPU), with a scaler that is off, or only on or built under a setting;
- a region that may be float16, with a scaler that is always off;
- a dtype and a switch of the scaler that leave a word of one setting for which the region is on, the scaler off;
- a region and a scaler that depend on two unrelated settings, or on one that is changed between the two;
- a scaler for CUDA only, with a float16 region on any device, in a program that supports more than CUDA and the CPU;
- of low severity: a scaler that is on, or may be, while a setting turns the region off; or over a region always off.

## Impact
Where only the region is on, gradients below 3e-8 become zero; where only the scaler is, it costs time for nothing.

## Why is this bad
float16 loses small gradients without a scaler. A scaler that nothing needs has to be known to everybody who reads the
loss or the gradients. Whoever sets one of the two settings expects the other to follow.

## What happens at run time
Silent on every torch: a disabled scaler hands everything on unchanged, and gradients below about 3e-8 are zero in
float16 (seen on 2.13, CPU).

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler = torch.amp.GradScaler(device, enabled=False)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    use_amp = True
    scaler = torch.amp.GradScaler(device, enabled=use_amp)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16, enabled=use_amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: it is unknown which of the two conditions is intended.

## What it cannot see
Settings that are kept in step outside the source. Two settings are reported only where they share no word, but for that
of the object which both belong to (`args.fp16`, `args.amp`), and neither is computed from what the other is. A scaler
that is on alone, only where its `scale` is called under no condition.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.roles import identifiers
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.dtype_predicates import mentions_dtype
from verifygate.static.facts.scaler_regions import Use
from verifygate.static.facts.setting_cases import OTHER
from verifygate.static.idioms.amp_switches import (
    SCALERS,
    SPEAK_OF_PRECISION,
    of_one_object,
    speak_of_precision,
    words_of,
)
from verifygate.static.idioms.dtype_string_comparisons import never_holds
from verifygate.static.idioms.float32_islands import is_scaled_alone
from verifygate.static.idioms.unhandled_precision_names import word_without_scaler
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.enclosing import deferring
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, Frame

RULE = Rule(
    code="AMP303",
    name="enabled-mismatch",
    severity=Severity.HIGH,
    summary="scaler and autocast are switched by different conditions",
    remedy="give `enabled=` of both the same variable",
    words=("GradScaler", "autocast"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="gradient-flush",
)

_ASKS_FOR_DEVICE = r"(?i)is_available|device|cuda|backend"
_IS_THERE = r"torch\.cuda\.is_available\(\) and |(?<= and )torch\.cuda\.is_available\(\)"
"""Asked along with a setting, for a scaler that is for CUDA in any case."""
_ONE_STEP = 3
"""A condition is explained by what its own names were given, and not by what those were worked out from."""


def check(analysis: Analysis) -> Iterable[Match]:
    """Scalers that are off, or may be, where the region is on."""
    told = set()
    for scaler in analysis.scaler_allocations:
        for use in analysis.scaler_regions.uses(scaler):
            for region in use.regions:
                if match := _mismatch(use, region, analysis):
                    if match.place.node not in told:
                        yield match
                    told.add(match.place.node)
                    break
        for test in never_holds(scaler.call, scaler.function, analysis):
            message = f"there is never a scaler: `{ast.unparse(test)}` compares a word with a dtype"
            yield Match(scaler.place, message, certain=False)
    yield from _never_on(analysis)


def _mismatch(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    if not use.scaler.off and (match := _stale(use, region, analysis) or _elsewhere(use, region, analysis)):
        return match
    dtypes = analysis.region_dtypes.of(region)
    by_device = Dtype.UNKNOWN in dtypes and analysis.region_dtypes.follows_device(region)  # on CUDA that is float16
    if use.scaler.off and (by_device or Dtype.FLOAT16 in dtypes):
        return _off(use, region, analysis)
    if Dtype.FLOAT16 not in dtypes:
        return _stays_on(use, region, analysis) if by_device else None
    ways = (_for_another_word, _by_another, _stays_on, _left_alone, _without_one)
    return next((match for way in ways if (match := way(use, region, analysis)) is not None), None)


def _elsewhere(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A scaler for CUDA over a region for every device."""
    accelerators = analysis.accelerators
    if not accelerators.is_for_cuda(use) or not accelerators.left_alone(region):
        return None
    if accelerators.built_for_cuda_only(use) or accelerators.has_one_for_each(use, region):
        return None  # there is no scaler then, which is another rule's, or another one
    if accelerators.runs_never_on_cuda(region):
        return None  # the scaler is misconstructed: AMP306
    return Match(
        region.place,
        "the region follows the device; its scaler is for CUDA, and off on other accelerators: float16 without a scale",
        certain=False,
        steps=((Location(use.function, use.call), "the scaler"), (region.place, "the region")),
        remedy="build the scaler for the same device: `torch.amp.GradScaler(device.type)`",
    )


def _stale(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A switch of the region that changes after what switches the scaler was computed from it."""
    enabled, theirs = use.scaler.enabled, region.region.enabled
    if enabled is None or theirs is None or not isinstance(theirs.expr, ast.Name | ast.Attribute):
        return None
    switch = analysis.roles.path(theirs.expr, theirs.frame)
    for node, expr, function in _computed(enabled, use, analysis):
        frame = analysis.evaluator.root_frame(function)
        if all(analysis.roles.path(each, frame) != switch for each in _names(expr)):
            continue
        for target, binding in bound_targets(function.own_nodes):
            line = getattr(binding.node, "lineno", 0)
            if line <= node.lineno or not isinstance(target, ast.Name | ast.Attribute):  # type: ignore[attr-defined]
                continue
            before = region.function is function and region.place.line < line
            keeps = binding.expr is not None and analysis.roles.path(binding.expr, frame) == switch
            if analysis.roles.path(target, frame) == switch and not before and not keeps:
                return Match(
                    Location(function, node),
                    f"`{ast.unparse(target)}`, which switches the region, is changed after the scaler's switch is set",
                    certain=False,
                    steps=(
                        (Location(function, node), "what switches the scaler"),
                        (Location(function, binding.node), "the change"),
                        (region.place, "the region"),
                    ),
                )
    return None


def _computed(enabled: Bound, use: Use, analysis: Analysis) -> Iterator[tuple[ast.AST, ast.expr, Function]]:
    """Where the scaler's switch is worked out: in the call itself, or in the one assignment to what it is given."""
    yield use.scaler.call, enabled.expr, use.scaler.function
    for binding, home in analysis.dtype_values.bindings(enabled.expr, enabled.frame):
        if binding.kind == "value" and binding.expr is not None:
            yield binding.node, binding.expr, home.function


def _names(expr: ast.expr) -> list[ast.expr]:
    return [node for node in walk(expr) if isinstance(node, ast.Name | ast.Attribute)]


def _off(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A scaler that the source switches off wherever the float16 region is on, or by a condition where it always is."""
    if use.function.module.file.is_test and not region.function.module.file.is_test:
        return None  # what switches the region is the test's own to set
    around = _conditions(region.context, region.function, analysis)
    asked = set(_spelled_out(region.context, region.function, analysis))
    if (enabled := region.region.enabled) is not None:
        asked.add((analysis.condition_texts.with_copies_propagated(enabled.expr, enabled.frame), True))
    for made, frame in region.region.made.calls if region.region.made is not None else ():
        asked.update(_spelled_out(*deferring(made, frame.function), analysis))
    places = dict.fromkeys(((use.call, use.function), _made_at(use)))
    own = [each for place in places for each in _conditions(*place, analysis)]
    spelled = [each for place in places for each in _spelled_out(*place, analysis)]
    alone = [text for (text, _), each in zip(own, spelled, strict=True) if each not in asked]
    if any(re.search(_ASKS_FOR_DEVICE, text) or mentions_dtype(text) for text in alone):
        return None  # where there is no CUDA, the region is off as well; another dtype needs no scaler
    always = (
        not around
        and region.region.enabled is None
        and not region.region.optional
        and analysis.region_dtypes.of(region) == {Dtype.FLOAT16}
    )
    if alone and not always:
        return None
    in_an_arm = bool(analysis.enclosing.conditions(*_made_at(use)))
    place = use.scaler.place if in_an_arm else Location(use.function, use.call)
    return Match(
        place,
        f"the scaler is switched off, the region whose loss it scales {'is' if always else 'may be'} on in float16",
        certain=always and use.function is region.function and not alone,
        steps=((place, "the scaler"), (region.place, "the region")),
    )


def _conditions(node: ast.AST, function: Function, analysis: Analysis) -> list[tuple[str, bool]]:
    """What holds where a node runs, explained, and whether it does."""
    frame = analysis.evaluator.root_frame(function)
    tests = analysis.enclosing.conditions(node, function)
    return [(analysis.condition_texts.with_definitions(test, frame, _ONE_STEP), holds) for test, holds in tests]


def _spelled_out(node: ast.AST, function: Function, analysis: Analysis) -> list[tuple[str, bool]]:
    """The same, each by what its names stand for: `prec == "amp"` is a question to the settings."""
    frame = analysis.evaluator.root_frame(function)
    tests = analysis.enclosing.conditions(node, function)
    return [(analysis.condition_texts.with_copies_propagated(test, frame), holds) for test, holds in tests]


def _stays_on(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A scaler that scales whatever a setting says, over a region that the setting turns off."""
    enabled = region.region.enabled
    if enabled is None or isinstance(enabled.expr, ast.Constant):
        return None
    text = analysis.condition_texts.with_definitions(enabled.expr, enabled.frame)
    if re.search(_ASKS_FOR_DEVICE, text) or words_of(text) & SCALERS or not _may_be_on_alone(use, enabled, analysis):
        return None
    if isinstance(enabled.expr, ast.Compare | ast.BoolOp) and not words_of(text) & SPEAK_OF_PRECISION:
        return None  # `epoch >= warmup`: the region comes later, for a scaler that waits for it
    decided = list(_scaled_for(region, analysis))
    if not decided or any(decided):
        return None
    made = _made_at(use)
    steps = ((Location(use.function, use.call), "the scaler"), (region.place, "the region"))
    return Match(
        Location(use.function, use.call),
        f"the scaler is on also where `{ast.unparse(enabled.expr)}` turns the region off whose loss it scales",
        certain=False,
        severity=Severity.LOW,
        steps=steps if made[0] is use.call else ((Location(made[1], made[0]), "built here"), *steps),
    )


def _left_alone(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A float16 region that is always on, whose scaler a setting turns off."""
    enabled = use.scaler.enabled
    if region.region.enabled is not None or region.region.made is None or region.region.instead:
        return None
    if enabled is None or not isinstance(enabled.expr, ast.Name | ast.Attribute | ast.Compare):
        return None
    is_known = analysis.evaluator.truth(enabled.expr, enabled.frame) is not None
    if is_known or analysis.dtype_values.compare(enabled.expr, enabled.frame):
        return None  # or it asks for the dtype, of the region say, and that is float16
    text = analysis.condition_texts.with_definitions(enabled.expr, enabled.frame, _ONE_STEP)
    if re.search(_ASKS_FOR_DEVICE, text) or not (words := words_of(text)) & SPEAK_OF_PRECISION:
        return None
    is_ours = not region.region.optional or _is_left_out_for_a_device(region, analysis)
    if not is_ours or analysis.region_dtypes.of(region) != {Dtype.FLOAT16}:
        return None
    near = {region.function, use.function, *(site.caller for site in analysis.call_graph.sites(region.function))}
    branches = (node for function in near for node in (*function.of_kind(ast.If), *function.of_kind(ast.IfExp)))
    if any(words_of(ast.unparse(node.test)) & words for node in branches):  # type: ignore[attr-defined]
        return None  # something asks for the setting: it may choose a way without the region
    return Match(
        Location(use.function, use.call),
        f"without `{ast.unparse(enabled.expr)}` the scaler is off, the float16 region whose loss it scales stays on",
        certain=False,
        steps=((Location(use.function, use.call), "the scaler"), (region.place, "the region")),
    )


def _without_one(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A float16 region that is always on, whose loss goes backward as it is where a setting builds no scaler."""
    if region.region.enabled is not None or region.region.optional or region.region.instead:
        return None
    nesting, function = analysis.enclosing, region.function
    conditions = analysis.scaler_regions.conditions(use)
    if len(conditions) != 1 or nesting.conditions(region.context, function):
        return None
    if analysis.region_dtypes.of(region) != {Dtype.FLOAT16} or re.search(_ASKS_FOR_DEVICE, text := conditions[0][0]):
        return None
    if not speak_of_precision(words_of(text)):
        return None
    scalers = {ast.unparse(each.receiver) for each in analysis.scaler_calls_in.get(function, ())}
    for call in function.calls:
        if last_name(call.func) != "backward" or not identifiers(call.func) & region.binds or _scales(call):
            continue
        decided = (ast.unparse(node) for test, _ in nesting.conditions(call, function) for node in _names(test))
        if any(each in scalers for each in decided):
            return Match(
                Location(use.function, use.call),
                "where a setting builds no scaler, the float16 region whose loss it scales stays on",
                certain=False,
                steps=(
                    (Location(use.function, use.call), "the scaler"),
                    (region.place, "the region"),
                    (Location(function, call), "the backward without it"),
                ),
                remedy="give `enabled=` of the region what builds the scaler",
            )
    return None


def _scales(backward: ast.Call) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "scale" for node in walk(backward))


def _is_left_out_for_a_device(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether nothing but the device decides if a region is entered: `nullcontext() if device == "cpu" else ...`."""
    frame = analysis.evaluator.root_frame(region.function)
    made = [(region.context, frame)]
    if isinstance(region.context, ast.Name | ast.Attribute):
        bindings = analysis.dtype_values.bindings(region.context, frame)
        made = [(binding.expr, home) for binding, home in bindings if binding.expr is not None]
    choices = [(expr, home) for expr, home in made if isinstance(expr, ast.IfExp)]
    return len(choices) == len(made) > 0 and all(
        re.search(_ASKS_FOR_DEVICE, text) and not words_of(text) & SPEAK_OF_PRECISION
        for text in (analysis.condition_texts.with_definitions(expr.test, home, _ONE_STEP) for expr, home in choices)
    )


def _scaled_for(region: WrittenRegion, analysis: Analysis) -> Iterator[bool]:
    """For each call that scales what the function of a region computes, there or below: if conditions decide."""
    for call, site in analysis.scaling_under.get(region.function, ()):
        here = _decide(call.call, call.function, call.frame, analysis)
        if site is None:
            yield here
        else:
            yield here or _decide(site.call, site.caller, analysis.evaluator.root_frame(site.caller), analysis)


def _decide(call: ast.Call, function: Function, frame: Frame, analysis: Analysis) -> bool:
    """Whether conditions decide if a call runs; not `if scaler is not None` where there always is one."""
    tests = analysis.enclosing.conditions(call, function)
    return any(analysis.evaluator.truth(test, frame) is not holds for test, holds in tests)


def _may_be_on_alone(use: Use, enabled: Bound, analysis: Analysis) -> bool:
    """Whether the scaler is always on, or on for the region's setting or another one."""
    own = use.scaler.enabled
    if any(analysis.enclosing.conditions(*each) for each in {(use.call, use.function), _made_at(use)}):
        return False
    if own is None or analysis.evaluator.truth(own.expr, own.frame) is True or _is_on_by_default(use, own, analysis):
        return True
    if not isinstance(own.expr, ast.BoolOp) or not isinstance(own.expr.op, ast.Or):
        return False
    switch = analysis.roles.path(enabled.expr, enabled.frame)
    return any(analysis.roles.path(part, own.frame) == switch for part in own.expr.values)


def _is_on_by_default(use: Use, own: Bound, analysis: Analysis) -> bool:
    """Whether a parameter of what builds the scaler switches it, on by default, and the call at hand leaves it so."""
    if not isinstance(own.expr, ast.Name) or use.call is use.scaler.call:
        return False
    default = use.scaler.function.default(own.expr.id)
    given = analysis.call_graph.given(own.expr.id, use.scaler.function)
    return (
        isinstance(default, ast.Constant)
        and default.value is True
        and all(site.call is not use.call for site, _ in given)
    )


def _made_at(use: Use) -> tuple[ast.Call, Function]:
    return use.scaler.call, use.scaler.function


def _never_on(analysis: Analysis) -> Iterator[Match]:
    """Losses that a live scaler scales, out of a region that is off: alone in its program, or in its step."""
    for region in analysis.written_regions.all:
        if is_scaled_alone(region, analysis):
            yield Match(
                region.place,
                "the region whose loss is scaled is always off: nothing is computed in half precision",
                certain=False,
                severity=Severity.LOW,
            )


def _for_another_word(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """A setting that chooses the dtype and the switch, each by a word of its own, and may be a third word."""
    case = word_without_scaler(use, region, analysis)
    if case is None:
        return None
    setting = ast.unparse(case.setting)
    value = f"'{case.word}'" if case.word is not OTHER else "none of the words that are asked for"
    return Match(
        Location(use.function, use.call),
        f"where `{setting}` is {value}, the region is on in float16 and the scaler off",
        certain=False,
        steps=((Location(use.function, use.call), "the scaler"), (region.place, "the region")),
    )


def _by_another(use: Use, region: WrittenRegion, analysis: Analysis) -> Match | None:
    """Two settings with nothing in common, neither of which asks for the device."""
    enabled = region.region.enabled
    conditions = [text for text, _ in analysis.scaler_regions.conditions(use) if text != "True"]
    if enabled is None or len(conditions) != 1:
        return None
    there = re.sub(_IS_THERE, "", conditions[0])
    texts = (there, analysis.condition_texts.with_definitions(enabled.expr, enabled.frame))
    if any(re.search(_ASKS_FOR_DEVICE, text) for text in texts):
        return None
    files = analysis.program.sources.each(analysis.import_graph.together(use.function.module.path))
    of_one = of_one_object(use.scaler.enabled, enabled, files, analysis.condition_texts)
    ours, theirs = of_one or (words_of(texts[0]), words_of(texts[1]))
    if ours & theirs or theirs & SCALERS or not speak_of_precision(ours, theirs):
        return None  # `enabled=scaler is not None`: on where there is a scaler
    return Match(
        Location(use.function, use.call),
        "the scaler and the region whose loss it scales are switched by different settings",
        certain=False,
        steps=((Location(use.function, use.call), "the scaler"), (region.place, "the region")),
    )

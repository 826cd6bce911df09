"""Gradients are clipped after the step that they were clipped for.

## What it does
Reports a clip of gradients that a step has used already, in the same iteration of the loop, or in a hook that a
framework calls between the step and the next backward: `on_step_end`, `on_optimizer_step` and `on_step_begin` of a
callback of transformers, `on_before_zero_grad` of Lightning (likely there).

Also a clip after a backward whose hooks step the optimizer (`register_post_accumulate_grad_hook`), with a scaler or
without one.

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
from verifygate.static.amp.parameter_sets import Overlap
from verifygate.static.analysis import Analysis
from verifygate.static.idioms import framework_scalers
from verifygate.static.rule import Match, ProtocolMatch, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import FunctionValue
from verifygate.torch_names import CLIP_FUNCTIONS, GRADIENT_HOOKS

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
    found = (*_by_protocol(analysis), *framework_scalers.without_effect(analysis), *_behind_stepping_hooks(analysis))
    seen: set[ast.AST] = set()
    for match in found:
        if match.place.node not in seen and not _is_compared(match.place, analysis):
            seen.add(match.place.node)
            yield match


def _behind_stepping_hooks(analysis: Analysis) -> Iterator[Match]:
    """Clips after a backward whose hooks have stepped by then: in the function that registers them, or in its class."""
    for call, function in analysis.calls:
        if last_name(call.func) not in GRADIENT_HOOKS or not (step := _step_in_hook(call, function, analysis)):
            continue
        registered = Location(function, call)
        homes = [function] if function.owner is None else list(function.owner.methods.values())
        for home in homes:
            backwards = [each.lineno for each in home.calls if last_name(each.func) == "backward"]
            for clip in home.calls:
                place = Location(home, clip)
                known = last_name(clip.func) in CLIP_FUNCTIONS and bool(clip.args)
                after = any(line < clip.lineno for line in backwards)
                if not (known and after and analysis.path_conditions.agree(registered, place)):
                    continue
                shared = _hooked(call, function, analysis, place)
                if shared is not Overlap.NONE:
                    yield Match(
                        place,
                        f"`{statement_text(place)}` comes after the backward whose hooks have stepped already:"
                        " it has no effect",
                        certain=home is function
                        and shared is Overlap.WITHIN
                        and not analysis.enclosing.conditions(call, function),
                        steps=((registered, "the hook"), (step, "its step, in the backward"), (place, "the clip")),
                        remedy="clip in the hook, before its step, or step after the backward",
                    )


def _step_in_hook(call: ast.Call, function: Function, analysis: Analysis) -> Location | None:
    """The step of an optimizer in the hook that a call registers."""
    evaluator = analysis.evaluator
    hooks = evaluator.values(call.args[0], evaluator.root_frame(function)) if call.args else ()
    for hook in (value.function for value in hooks if isinstance(value, FunctionValue)):
        for each in hook.calls:
            is_step = isinstance(each.func, ast.Attribute) and each.func.attr == "step"
            if is_step and analysis.roles.is_optimizer(each.func.value, evaluator.root_frame(hook)):  # type: ignore[attr-defined]
                return Location(hook, each)
    return None


def _hooked(call: ast.Call, function: Function, analysis: Analysis, clip: Location) -> Overlap:
    """How many of the parameters of a clip have the hook: those that the loop around its registration goes over."""
    loop = next((each for each in analysis.enclosing.loops(call, function) if isinstance(each, ast.For)), None)
    if loop is None or not isinstance(clip.node, ast.Call):
        return Overlap.UNKNOWN
    parameters, root_frame = analysis.roles.parameters, analysis.evaluator.root_frame
    hooked = parameters.of(loop.iter, root_frame(function))
    clipped = parameters.of(clip.node.args[0], root_frame(clip.function))
    return hooked.overlap(clipped) if hooked is not None else Overlap.UNKNOWN


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

"""Gradients are clipped while they are still multiplied by the loss scale.

## What it does
Reports a clip of gradients that a scaled backward made and no `unscale_` has divided yet: `clip_grad_norm_`,
`clip_grad_value_`, timm's `adaptive_clip_grad`, a model's own clip method, `p.grad.clamp_(...)`, `torch.clamp` and
`nan_to_num` of gradients, a `torch.where` or a mask that asks how large or finite they are; and a hook that clamps each
gradient as the backward makes it, in a program that scales its loss.

Also a clip by hand between the backward of a framework that scales and what unscales there: `accelerator.backward` and
the accelerator's own clip, `fabric.backward` and `fabric.clip_gradients`, Lightning's `manual_backward` (or the hook
`on_after_backward`) and its step. Always likely; of low severity where the program does not say float16.

## Impact
Every step is clipped to `max_norm / scale`, 65,536 times too short with the default scale, and the effective learning
rate changes whenever the scale does.

## Why is this bad
The gradients are tens of thousands of times too large at that point, so every step is clipped. After the scaler
divides, their norm is `max_norm / scale`: the learning rate shrinks by the loss scale, and changes whenever the scale
does. A value clip or `nan_to_num_` also hides inf from the scaler, so it never backs off.

## What happens at run time
Silent on every torch (seen on 2.13, CPU): the applied norm is `max_norm / 65536` with the default scale, and
runs that differ only in `init_scale` end in different weights.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
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
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe where the clip stands in the same block as the step of the one optimizer it is for: `scaler.unscale_(optimizer)`
is put on a line of its own before the clip, or moved there.

## What it cannot see
Clips inside libraries, and gradients rewritten through views that do not name `.grad`. With several optimizers, a
clip whose parameters cannot be distinguished is reported only where it is wrong for all of them.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Applicability, Severity, Witness
from verifygate.protocol import Event
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis
from verifygate.static.idioms import framework_scalers
from verifygate.static.rule import Match, ProtocolMatch, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import FunctionValue
from verifygate.torch_names import CLIP_FUNCTIONS

RULE = Rule(
    code="AMP201",
    name="clip-before-unscale",
    severity=Severity.CRITICAL,
    summary="gradients are clipped while still multiplied by the loss scale",
    remedy="call `scaler.unscale_(optimizer)` between backward() and the clip",
    words=("GradScaler", "unscale_", "scaler", *framework_scalers.WORDS),
    beside=(r"register_hook\(|register_post_accumulate_grad_hook\(", r"clamp|clip|nan_to_num"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    proof="scale-invariance",
)

# The rows of the table in verifygate/protocol.py that name CLIP_BEFORE_UNSCALE, applied by static/paths/transfer.py.
_by_protocol = ProtocolMatch(RULE, "`{text}` clips gradients that are still multiplied by the loss scale")
_REGISTERS = frozenset({"register_hook", "register_post_accumulate_grad_hook"})
_MULTIPLIES = re.compile(r"\.grad\b[^\n]*\.(mul|clamp|div)_?\(|\.grad\b[^\n]*\*=")
_CLAMPS = re.compile(r"(?i)_?(clamp|clip)")
_FINITE = frozenset({"nan_to_num", "nan_to_num_"})
"""What makes numbers of inf and NaN: no scaler finds an overflow then."""
_IN_HOOKS = "call `scaler.unscale_(optimizer)` after backward() and clip there: a hook sees scaled gradients only"


def looks_beside(analysis: Analysis) -> bool:
    """Hooks matter where a loss is scaled."""
    return analysis.some_scaler_is_on


def check(analysis: Analysis) -> Iterator[Match]:
    """Clips by the protocol, and hooks that clip in the midst of a scaled backward."""
    walked = list(_by_protocol(analysis))
    yield from walked
    yield from _left_to_callers(analysis)
    yield from framework_scalers.matches(Event.CLIP, "clips gradients", analysis)
    if not looks_beside(analysis):
        return
    reported = {match.place.node for match in walked}
    for call, function in analysis.calls:
        if last_name(call.func) not in _REGISTERS:
            continue
        hooks = list(_hooks(call, function, analysis))
        if any(_clamps(*each) for each in hooks) and reported.isdisjoint(node for _, body in hooks for node in body):
            yield from _registered(call, function, analysis)


def _left_to_callers(analysis: Analysis) -> Iterator[Match]:
    """A method that clips and lets the scaler step, and that nothing in sight calls: what went before is not walked.

    Another method of its class scales, and no file of the program has a word of `unscale_`.
    """
    scaling = {call.function.owner for call in analysis.scaler_calls if call.method == "scale"} - {None}
    for step in analysis.scaler_calls:
        function = step.function
        if step.method != "step" or function.owner not in scaling or analysis.call_graph.sites(function):
            continue
        clips = [call for call in function.calls if _clips(call, function, analysis)]
        agree = analysis.path_conditions.agree
        before = [
            call for call in clips if call.lineno < step.call.lineno and agree(Location(function, call), step.place)
        ]
        derives = any(last_name(call.func) in ("backward", "scale") for call in function.calls)
        if before and not derives and not _speaks_of_unscaling(function.module.path, analysis):
            place = Location(function, before[0])
            message = f"`{statement_text(place)}` clips before the step of a scaler that has not unscaled"
            yield Match(place, message, certain=False, steps=((place, "the clip"), (step.place, "the step")))


def _clips(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a call is to one of torch's clips, or to a function of that name that multiplies gradients."""
    if last_name(call.func) not in CLIP_FUNCTIONS or len(call.args) + len(call.keywords) < 2:
        return False
    callees = analysis.call_graph.callees(call, function)
    return all(_MULTIPLIES.search(ast.unparse(callee.node)) for callee in callees)


def _speaks_of_unscaling(path: str, analysis: Analysis) -> bool:
    files = analysis.program.sources.each(analysis.import_graph.together(path))
    return any(b"unscale_" in file.data for file in files)


def _registered(call: ast.Call, function: Function, analysis: Analysis) -> Iterator[Match]:
    scaler = _scaler_beside(function, analysis)
    if scaler is None:
        return
    place = Location(function, call)
    callers = [(Location(site.caller, site.call), "registers the hook") for site in analysis.call_graph.sites(function)]
    yield Match(
        place,
        f"`{statement_text(place)}` clips gradients in the backward, where they are multiplied by the loss scale",
        certain=False,
        steps=((scaler.place, "the scaler"), *callers, (place, "the hook")),
        remedy=_IN_HOOKS,
    )


def _scaler_beside(function: Function, analysis: Analysis) -> ScalerAllocation | None:
    """A scaler of a program that the function is part of."""
    files = analysis.import_graph.together(function.module.path)
    made = (each for each in analysis.scaler_allocations if not each.off and each.place.path in files)
    return next(made, None)


def _hooks(call: ast.Call, function: Function, analysis: Analysis) -> Iterator[tuple[str, list[ast.AST]]]:
    """What the hook calls its gradient, and the nodes of its body."""
    hook = call.args[0] if call.args else None
    if isinstance(hook, ast.Lambda):
        if hook.args.args:
            yield hook.args.args[0].arg, list(walk(hook.body))
    elif hook is not None:
        for value in analysis.evaluator.values(hook, analysis.evaluator.root_frame(function)):
            own = value.function.parameters if isinstance(value, FunctionValue) else []
            own = own[1:] if isinstance(value, FunctionValue) and value.receiver else own
            if own:
                yield own[0].arg, list(value.function.own_nodes)  # type: ignore[union-attr]


def _clamps(gradient: str, body: list[ast.AST]) -> bool:
    """Whether a call in the body clamps the gradient to something else than its sign, by bounds that are not scaled.

    Or makes it finite.
    """
    if any(isinstance(node, ast.Attribute) and "get_scale" in node.attr for node in body):
        return False
    for node in body:
        if isinstance(node, ast.Call) and last_name(node.func) in _FINITE and _names(gradient, node):
            return True
        if isinstance(node, ast.Call) and _CLAMPS.match(last_name(node.func)) and _names(gradient, node):
            if _is_led_by_another(node.func):
                continue
            given = [*node.args, *(word.value for word in node.keywords)]
            bounds = [each for each in given if not _names(gradient, each)]
            if not bounds or not all(isinstance(each, ast.Constant) and not each.value for each in bounds):
                return True
    return False


def _is_led_by_another(func: ast.expr) -> bool:
    """Whether a clip of that name is a method of what knows about the scale: `accelerator.clip_grad_norm_(...)`."""
    return (
        isinstance(func, ast.Attribute)
        and func.attr in CLIP_FUNCTIONS
        and last_name(func.value) not in ("utils", "clip_grad", "nn")
    )


def _names(gradient: str, expr: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) and each.id == gradient for each in walk(expr))

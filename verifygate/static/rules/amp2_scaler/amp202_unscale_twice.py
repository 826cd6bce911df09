"""`unscale_` is called twice for one optimizer in one window, or after its step.

## What it does
Reports a second `scaler.unscale_(optimizer)` before the `update()` that ends the window, one that comes after
`scaler.step(optimizer)`, and one by another scaler than the one that steps. A second one with a backward in between is
AMP203; one that a hand-written check for inf and NaN leads to is AMP214.

## Impact
The second call raises on the first machine with a live scaler; with two scalers it is silent, and updates are 65,536
times too small.

## Why is this bad
`unscale_` divides every gradient by the loss scale. Dividing twice makes the update tens of thousands of times too
small, so the scaler keeps a note of it and refuses. Two scalers know nothing of each other: that is silent.

## What happens at run time
Raises (torch 2.13): `RuntimeError: unscale_() has already been called on this optimizer since the last update().`, or
`unscale_() is being called after step().` With a disabled scaler nothing is raised: the fault waits for the first
GPU.

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
        torch.nn.utils.clip_grad_value_(model.parameters(), 10.0)
        scaler.unscale_(optimizer)
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
        torch.nn.utils.clip_grad_value_(model.parameters(), 10.0)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: which of the two calls is the right one depends on what stands between them.

## What it cannot see
Two scalers for one optimizer are seen where one function has both calls. Two optimizers over the same parameters, each
unscaled once: torch does not notice that either, and divides twice. Paths that need two conditions which change from
iteration to iteration are not reported.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.unscale_
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, ProtocolMatch, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import ExternalResult

RULE = Rule(
    code="AMP202",
    name="unscale-twice",
    severity=Severity.HIGH,
    summary="unscale_ twice in one window, or after the step",
    remedy="call `scaler.unscale_(optimizer)` once per window, before the first use of its gradients",
    words=("unscale_",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

_by_protocol = ProtocolMatch(RULE, "`{text}` divides gradients that this window has unscaled or stepped already")


def check(analysis: Analysis) -> Iterator[Match]:
    """Twice by one scaler, which raises; and once by each of two, which nothing notices."""
    yield from _by_protocol(analysis)
    calls: dict[tuple[Function, AccessPath], list[ScalerCall]] = {}
    for call in analysis.scaler_calls:
        if call.method in ("step", "unscale_") and call.optimizer is not None and call.is_certain:
            path = analysis.roles.path(call.optimizer, call.frame)
            calls.setdefault((call.function, path), []).append(call)
    for group in calls.values():
        steps = [call for call in group if call.method == "step"]
        for call in group if len(steps) == 1 else ():
            built, other = _made(call, analysis), _made(steps[0], analysis)
            if call.method == "unscale_" and built and other and not built & other:
                texts = (statement_text(each.place) for each in (call, steps[0]))
                message = "`{}` divides by its own scale, `{}` by that of another scaler again".format(*texts)
                yield Match(call.place, message, certain=True, steps=((steps[0].place, "divides again"),))


def _made(call: ScalerCall, analysis: Analysis) -> set[ast.Call]:
    """The calls that build the scaler."""
    values = analysis.evaluator.values(call.receiver, call.frame)
    return {built for value in values if isinstance(value, ExternalResult) for built, _ in value.calls}

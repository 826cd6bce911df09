"""The loss is not scaled before backward, though a live scaler steps the optimizer.

## What it does
Reports a `backward()` on an unscaled loss whose gradients a GradScaler then unscales or steps. A dropped result
(`scaler.scale(loss)` on a line of its own, then `loss.backward()`) is the same fault, and so are gradients that a hand
has written, `p.grad = before - p.data`, or that `torch.func.grad` computes of an unscaled loss, and that the scaler
steps on.

## Impact
Updates are 65,536 times too small with the default scale: training crawls, and looks like a bad learning rate.

## Why is this bad
The scaler divides the gradients by a scale that nothing multiplied them with: with the default scale they are 65536
times too small, and small ones flush to zero. Training crawls, and looks like a bad learning rate.

## What happens at run time
Silent from the second iteration on (torch 2.13, CPU: a gradient of 2.67 became 4.1e-05). If no `scale()` was ever
called, `unscale_` and `step` raise `AssertionError: Attempted step but _scale is None`.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss)
        loss.backward()
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
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: either the loss should be scaled, or the scaler should not be there.

## What it cannot see
Losses scaled by hand. A dropped `scale(loss)` whose loss another function differentiates. With several optimizers, a
backward is attributed to one only if no scaled backward follows. If the loss is a parameter and no known call passes
one, the finding is likely at most, and it is left out if code that scales calls a method of that name.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.model import Severity, Witness
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, ProtocolMatch, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="AMP206",
    name="unscaled-backward",
    severity=Severity.CRITICAL,
    summary="backward() on an unscaled loss whose gradients the scaler divides",
    remedy="call `scaler.scale(loss).backward()`",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-invariance",
)

_by_protocol = ProtocolMatch(RULE, "`{text}` is not scaled, but the scaler divides its gradients")


def check(analysis: Analysis) -> Iterator[Match]:
    """Backwards of the protocol, and scaled losses that nobody takes."""
    found = list(_by_protocol(analysis))
    told = {match.place.function for match in found}
    for match in found:
        loss = _handed_in(match.place, analysis)
        if loss is None or any(analysis.call_graph.given(loss, match.place.function)):
            yield match  # a walk from where the loss comes from has said so
        elif not _is_scaled_elsewhere(match.place.function, analysis):
            yield replace(match, certain=False)
    for call in analysis.scaler_calls:
        if call.method == "scale" and call.function not in told and _goes_on_unscaled(call):
            text = statement_text(call.place)
            message = f"`{text}` changes nothing: what it returns is dropped, and the loss goes on unscaled"
            yield Match(call.place, message, certain=call.is_certain)


def _handed_in(place: Location, analysis: Analysis) -> str | None:
    """The parameter that holds the loss, of a function that binds it nowhere else, and whose scaler others reach."""
    if any(made.function is place.function for made in analysis.scaler_allocations):
        return None
    match place.node:
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id=loss)))
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=loss))))
        ):
            bindings = place.function.scope.names.get(loss, ())
            return loss if len(bindings) == 1 and bindings[0].kind == "parameter" else None
    return None


def _is_scaled_elsewhere(function: Function, analysis: Analysis) -> bool:
    """Whether who calls a method of that name scales the loss: it may be this one, or one in its place below."""
    scaling = {call.function for call in analysis.scaler_calls if call.method == "scale"}
    return any(simple_name(node.func) == function.name for caller in scaling for node in caller.calls)


def _goes_on_unscaled(call: ScalerCall) -> bool:
    """Whether the result of `scale` is dropped, and gradients of the loss itself are taken after that."""
    loss = call.call.args[0] if len(call.call.args) == 1 else None
    statements = call.function.of_kind(ast.Expr)
    dropped = any(node.value is call.call for node in statements)
    return dropped and isinstance(loss, ast.Name) and _is_derived(loss.id, call.call.lineno, call.function)


def _is_derived(name: str, line: int, function: Function) -> bool:
    """Whether gradients of a variable are taken behind a line: `loss.backward()`, `autograd.grad(loss, ...)`."""
    for node in function.calls:
        if node.lineno <= line or not isinstance(node.func, ast.Attribute):
            continue
        taken = [node.func.value] if node.func.attr == "backward" else node.args[:1] if node.func.attr == "grad" else []
        if any(isinstance(part, ast.Name) and part.id == name for each in taken for part in walk(each)):
            return True
    return False

"""Losses are accumulated over several micro-batches and not divided by their number.

## What it does
Reports a scaled backward in every turn of a loop whose step comes every N turns, where nothing divides by N and no
division of a loss is in sight. It is only ever likely: a loss that is a sum needs no division.

## Why is this bad
The gradients of N means add up to N times the mean: the effective learning rate grows with the window, clipping bites
N times harder, and float16 gradients overflow sooner. Changing the window changes the training.

## What happens at run time
Silent on every torch: after one window plain SGD has moved N times as far (Adam hides it, as it normalises).

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if number % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Fix safety
No automatic fix: dividing changes the effective learning rate, which may have been tuned around it.

## What it cannot see
Windows that are not known by a remainder (`%`) next to the backward; a last window that is shorter than the others.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.scaler_calls import ScalerCall
from verifygate.static.syntax import walk

RULE = Rule(
    code="AMP216",
    name="accumulation-not-normalised",
    severity=Severity.LOW,
    summary="accumulated losses are not divided by the window",
    remedy="divide the loss by the number of micro-batches before `scaler.scale(loss).backward()`",
    words=("GradScaler", "unscale_", "scaler"),
    proof="final-weights",
)

_SHARES = re.compile(r"mean|average|normali[sz]|weight|/|accum\w*\(", re.IGNORECASE)


def check(analysis: Analysis) -> Iterator[Match]:
    """Backwards of every turn in loops that step every few turns."""
    scales = [call for call in analysis.scaler_calls if call.method == "scale"]
    for step in analysis.scaler_calls:
        window = _window(step, analysis) if step.method == "step" else None
        loops = analysis.nesting.loops(step.call, step.function)
        if window is None or not loops or _divides(loops[0], window):
            continue
        for scale in scales:
            beside = scale.function is step.function and analysis.nesting.loops(scale.call, scale.function) == loops
            if beside and _is_every_turn(scale, window, analysis) and not _is_shared_out(scale):
                text = statement_text(scale.place)
                yield Match(scale.place, f"`{text}` adds up losses that nothing divides by `{window}`", certain=False)


def _window(step: ScalerCall, analysis: Analysis) -> str | None:
    """The N of `if (i + 1) % N == 0` around the step."""
    for test, holds in analysis.nesting.conditions(step.call, step.function):
        for node in walk(test):
            if holds and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                return ast.unparse(node.right)
    return None


def _is_every_turn(scale: ScalerCall, window: str, analysis: Analysis) -> bool:
    conditions = analysis.nesting.conditions(scale.call, scale.function)
    return not any("%" in ast.unparse(test) or window in ast.unparse(test) for test, _ in conditions)


def _is_shared_out(scale: ScalerCall) -> bool:
    """Whether the loss looks as if it was divided, or weighted, where it stands or is bound."""
    names = {node.id for node in walk(scale.call) if isinstance(node, ast.Name)}
    bound = [binding.expr for name in names for binding in scale.function.scope.names.get(name, ())]
    own = scale.call.args[0] if scale.call.args else scale.call
    return any(expr is not None and _SHARES.search(ast.unparse(expr)) for expr in (own, *bound))


def _divides(loop: ast.AST, window: str) -> bool:
    """Whether anything in the loop is divided by the window, or a loss by anything."""
    for node in walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
            return True
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        if ast.unparse(node.right) == window or "loss" in ast.unparse(node.left).lower():
            return True
    return False

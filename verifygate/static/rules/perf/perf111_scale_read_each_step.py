"""The loss scale is read on the host in every step.

## What it does
Reports `scaler.get_scale()` that runs in every step of training and whose value is only noted: printed, logged,
appended, put in a dict. `scaler.state_dict()["scale"]` is the same reading, also by a wrapper that hands on the state.

## Impact
The step waits for the GPU once more, for a number that changes every two thousand steps.

## Why is this bad
The scale is a tensor on the device; reading it waits for the GPU. It changes every two thousand steps or so, or after
an overflow, so a look every n-th step shows the same.

## What happens at run time
The numbers are the same: on a CUDA device the step waits once more (torch 2.13's own docstring: "get_scale incurs a
CPU-GPU sync"). A disabled scaler answers 1.0 without waiting.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scales = []
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scales = []
    for step, (inputs, targets) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % 50 == 0:
            scales.append(scaler.get_scale())
    return scales
```

## Fix safety
No fix: only the author knows how often the scale is needed.

## What it cannot see
Reads that the step needs are left alone: a comparison that detects a skipped step, a division in a gradient penalty. A
read that is kept in a name of its own is followed to where the name is used in the same function.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.get_scale
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.amp.roles import Scaler, ScalerKind
from verifygate.static.analysis import Analysis
from verifygate.static.facts.hot_loops import HotLoop
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import ProgramPoint
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="PERF111",
    name="scale-read-each-step",
    severity=Severity.LOW,
    summary="the loss scale is read on the host in every step",
    remedy="read it every n-th step",
    words=("get_scale", "state_dict()["),
    proof="host-reads",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Reads of a live scaler's scale in every iteration that no arithmetic and no condition uses."""
    sure: dict[ProgramPoint, HotLoop] = {
        spot: loop for loop in analysis.hot_loops.training for spot in loop.iteration_points
    }
    for spot in analysis.hot_loops.once_per_place(each for each in sure if _reads_scale(each.node, each.statement)):
        scaler = _scaler(spot, analysis)
        if scaler is None or scaler.kind is ScalerKind.IDLE or _is_used(spot):
            continue
        own = sure[spot].function is spot.function and scaler.kind is ScalerKind.LIVE
        yield Match(spot.place, f"`{ast.unparse(spot.node)}` waits for the GPU in every step", certain=own)


def _reads_scale(node: ast.AST, statement: ast.stmt) -> bool:
    """`get_scale()`, and `state_dict()["scale"]`, for which the scaler asks itself the same."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if node.func.attr != "state_dict" or node.args or node.keywords:
        return node.func.attr == "get_scale"
    return any(
        isinstance(each, ast.Subscript)
        and each.value is node
        and isinstance(each.slice, ast.Constant)
        and each.slice.value == "scale"
        for each in walk(statement)
    )


def _scaler(spot: ProgramPoint, analysis: Analysis) -> Scaler | None:
    """The scaler that is asked: by its own method, or by one of the project that hands on what the scaler's gives."""
    call = spot.node
    frame = analysis.evaluator.root_frame(spot.function)
    own = analysis.roles.scaler(call.func.value, frame)  # type: ignore[attr-defined]
    if own is not None or not isinstance(call, ast.Call):
        return own
    for callee in analysis.evaluator.callees(call, frame):
        for given in callee.function.of_kind(ast.Return):
            match given.value:
                case ast.Call(func=ast.Attribute(value=held, attr="get_scale" | "state_dict"), args=[]):
                    return analysis.roles.scaler(held, analysis.evaluator.root_frame(callee.function))
    return None


def _is_used(spot: ProgramPoint) -> bool:
    """Whether the value, or the name it is given, takes part in arithmetic, a condition or a result."""
    if _within(spot.node, ast.Compare | ast.BinOp | ast.Return, (spot.statement,)):
        return True
    if isinstance(spot.statement, ast.If | ast.While | ast.Return):
        return True
    targets = spot.statement.targets if isinstance(spot.statement, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if not names and targets:
        return not all(isinstance(target, ast.Subscript) for target in targets)
    return any(_computes_with(node, names) for node in _nodes(spot.function))


def _computes_with(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Compare | ast.BinOp | ast.Return | ast.If) and any(
        isinstance(each, ast.Name) and each.id in names
        for each in walk(node.test if isinstance(node, ast.If) else node)
    )


def _within(node: ast.AST, kinds: type | object, roots: tuple[ast.AST, ...]) -> bool:
    return any(
        isinstance(outer, kinds) and any(each is node for each in walk(outer))  # type: ignore[arg-type]
        for root in roots
        for outer in walk(root)
    )


def _nodes(function: Function) -> tuple[ast.AST, ...]:
    return function.own_nodes

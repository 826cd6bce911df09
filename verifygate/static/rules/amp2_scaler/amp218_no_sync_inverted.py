"""`no_sync()` stands around the wrong part of an accumulation.

## What it does
Reports `with model.no_sync():` around a backward whose forward ran outside of it, and `no_sync()` around the
micro-batch that steps.

## Why is this bad
DistributedDataParallel decides at the forward whether the backward will all-reduce. A forward outside `no_sync` arms
the reducer, so the gradients of every micro-batch cross the network although `no_sync` was to save that. Around the
stepping micro-batch it is worse: the ranks step with gradients that they never shared, and drift apart.

## What happens at run time
Silent (torch 2.13, two gloo ranks): a forward outside `no_sync` still all-reduces although its backward is inside; with
the step inside, nothing is sent, and the ranks end with different weights.

## Example
```python
import torch
from torch.nn.parallel import DistributedDataParallel


def train(model, loss_fn, optimizer, scaler, batches, device):
    model = DistributedDataParallel(model)
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        if number % 2 != 0:
            with model.no_sync():
                scaler.scale(loss).backward()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Use instead
```python
import torch
from torch.nn.parallel import DistributedDataParallel


def train(model, loss_fn, optimizer, scaler, batches, device):
    model = DistributedDataParallel(model)
    for number, (inputs, targets) in enumerate(batches, 1):
        if number % 2 != 0:
            with model.no_sync():
                with torch.autocast(device, dtype=torch.float16):
                    loss = loss_fn(model(inputs), targets) / 2
                scaler.scale(loss).backward()
        else:
            with torch.autocast(device, dtype=torch.float16):
                loss = loss_fn(model(inputs), targets) / 2
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Fix safety
No automatic fix: the forward has to move into the region.

## What it cannot see
Forwards in another function; `no_sync` entered by hand or through a framework.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.program import Function
from verifygate.static.roles import last_name
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.syntax import walk

RULE = Rule(
    code="AMP218",
    name="no-sync-inverted",
    severity=Severity.MEDIUM,
    summary="no_sync() around a backward without its forward, or around the step",
    remedy="put the forward and the backward of every micro-batch but the last one under `no_sync()`",
    words=("no_sync",),
    proof="gradients-sent",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """Every `with model.no_sync()`."""
    for function in analysis.functions:
        for node in function.withs:
            for item in node.items:
                if (model := _unsynced(item.context_expr)) is not None:
                    yield from _judge(node, item.context_expr, model, function, analysis)


def _judge(
    block: ast.With | ast.AsyncWith, context: ast.expr, model: ast.expr, function: Function, analysis: Analysis
) -> Iterator[Match]:
    place = Place(function, context)
    if _calls(block, "step"):
        surely = isinstance(context, ast.Call)
        if surely:
            yield Match(place, f"`{statement_text(place)}` keeps the micro-batch that steps from being synchronised")
        return
    name = ast.unparse(model)
    loops = analysis.nesting.loops(block, function)
    forwards = [
        node
        for node in function.calls
        if ast.unparse(node.func) == name and analysis.nesting.loops(node, function) == loops
    ]
    outside = any(call.lineno < block.lineno for call in forwards)
    inside = any(not _is_backward(node) for node in _own_calls(block))
    if _calls(block, "backward") and outside and not inside:
        yield Match(
            place, f"`{statement_text(place)}` comes after the forward of `{name}`, which decides on the all-reduce"
        )


def _own_calls(block: ast.With | ast.AsyncWith) -> Iterator[ast.Call]:
    for statement in block.body:
        yield from (node for node in walk(statement) if isinstance(node, ast.Call))


def _is_backward(call: ast.Call) -> bool:
    return last_name(call.func) in ("backward", "scale", "div", "item", "float")


def _calls(block: ast.With | ast.AsyncWith, method: str) -> bool:
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == method for call in _own_calls(block))


def _unsynced(context: ast.expr) -> ast.expr | None:
    """The model of `model.no_sync()`, also where that is one arm of a conditional expression."""
    if isinstance(context, ast.IfExp):
        return _unsynced(context.body) or _unsynced(context.orelse)
    if isinstance(context, ast.Call) and isinstance(context.func, ast.Attribute) and context.func.attr == "no_sync":
        return context.func.value
    return None

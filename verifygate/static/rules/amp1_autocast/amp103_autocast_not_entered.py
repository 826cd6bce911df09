"""An autocast context is built, and the code that it is for does not run in it.

## What it does
Reports contexts that are built in a statement of their own or kept in a variable that nothing reads; `@autocast`
without parentheses; `@autocast(...)` on a generator or a coroutine; and one instance entered inside itself.

## Impact
The code runs in float32 although mixed precision was meant, or autocast stays on for the rest of the process.

## Why is this bad
Building the context does nothing: only `with` (or the decorator, around a plain call) switches autocast on. A decorated
generator or coroutine is created in the region and runs after it. An instance remembers one state to go back to:
entered inside itself it forgets that autocast was off, and leaves it on for the rest of the process.

## What happens at run time
Silent, but for `@autocast` without parentheses, which raises. Seen on torch 2.13 (CPU): outputs stay float32 in the
first cases; after `with context:` inside `with context:`, `torch.is_autocast_enabled("cpu")` is still true at the end.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        torch.autocast(device, dtype=torch.float16)
        loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
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
No automatic fix: only the author knows how far the region should reach.

## What it cannot see
Contexts passed to other code, attributes that nothing enters, re-entry through a call, and constructors that a file
without the word `autocast` gets from another.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult
from verifygate.torch_names import AUTOCASTS

RULE = Rule(
    code="AMP103",
    name="autocast-not-entered",
    severity=Severity.HIGH,
    summary="an autocast context is built but never entered, or entered inside itself",
    remedy="enter a context of its own around the forward and the loss: `with torch.autocast(...):`",
    words=("autocast",),
    proof="dtype-census",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """What is built and dropped, then decorators, then re-entry."""
    for function in analysis.functions:
        if not function.module.mentions(b"autocast"):
            continue
        yield from _dropped(function, analysis)
        yield from _passed_over(function, analysis)
        yield from _decorators(function, analysis)
    for region in analysis.written_regions.all:
        if _is_inside_itself(region, analysis):
            yield Match(
                region.place,
                f"`{ast.unparse(region.context)}` is entered inside itself: autocast stays on after the outer region",
            )


def _dropped(function: Function, analysis: Analysis) -> Iterable[Match]:
    read = None
    statements: list[ast.Expr | ast.Assign] = [*function.of_kind(ast.Expr), *function.of_kind(ast.Assign)]
    for node in sorted(statements, key=lambda each: (each.lineno, each.col_offset)):
        if not _builds(node.value, function, analysis):
            continue
        if isinstance(node, ast.Expr):
            yield Match(Location(function, node.value), "the context is built and dropped: autocast stays off")
        elif function.symbol and len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name):
            read = _read_names(function) if read is None else read
            if target.id not in read and target.id not in function.scope.outer:
                yield Match(Location(function, node.value), f"nothing enters `{target.id}`: autocast stays off")


def _passed_over(function: Function, analysis: Analysis) -> Iterable[Match]:
    """`with torch.autocast("cuda") and torch.no_grad():`: of what `and` joins, only the last is entered."""
    for node in function.withs:
        for joined in (item.context_expr for item in node.items):
            if not isinstance(joined, ast.BoolOp) or not isinstance(joined.op, ast.And):
                continue
            if any(_builds(part, function, analysis) for part in joined.values[:-1]):
                yield Match(
                    Location(function, joined),
                    f"`and` enters only `{ast.unparse(joined.values[-1])}`: autocast stays off",
                    remedy="enter both: `with torch.autocast(...), other:`",
                )


def _builds(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether the expression calls an autocast constructor itself, or a function that returns such a call."""
    if not isinstance(expr, ast.Call):
        return False
    frame = analysis.evaluator.root_frame(function)
    values = analysis.evaluator.values(expr, frame)
    if not values or not all(isinstance(value, ExternalResult) and value.name in AUTOCASTS for value in values):
        return False
    returned = (each for callee in analysis.evaluator.callees(expr, frame) for each in callee.function.returns)
    new = [expr, *returned]
    return all(isinstance(value, ExternalResult) and value.calls and value.calls[-1][0] in new for value in values)


def _read_names(function: Function) -> set[str]:
    """Every name that is read anywhere in the function, also by functions nested in it."""
    names = {node.id for node in walk(function.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if "locals" in names:
        names |= set(function.scope.names)
    return names


def _decorators(function: Function, analysis: Analysis) -> Iterable[Match]:
    outside = analysis.evaluator.root_frame(function.module.body)
    for decorator in getattr(function.node, "decorator_list", ()):
        if not isinstance(decorator, ast.Call):
            if analysis.roles.known_name(decorator, outside) in AUTOCASTS:
                yield Match(
                    Location(function, decorator),
                    f"`@{ast.unparse(decorator)}` without parentheses puts a context in place of the function",
                    remedy='call the decorator: `@torch.autocast("cuda")`',
                )
        elif (delayed := _runs_later(function)) and analysis.roles.region(decorator, outside):
            yield Match(
                Location(function, decorator),
                f"`{function.name}` is a {delayed}: it is created in the region and runs outside it",
                remedy="enter the region inside the function, around what it computes between its pauses",
            )


def _runs_later(function: Function) -> str:
    if function.is_generator:
        return "generator"
    return "coroutine" if isinstance(function.node, ast.AsyncFunctionDef) else ""


def _is_inside_itself(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether the region enters the very instance that a region around it has entered."""
    if not isinstance(region.context, ast.Name | ast.Attribute):
        return False
    frame = analysis.evaluator.root_frame(region.function)
    path = analysis.roles.path(region.context, frame)
    if len(analysis.evaluator.values(region.context, frame)) != 1 or region.region.made is None:
        return False
    around = region.around
    while around is not None:
        if isinstance(around.context, ast.Name | ast.Attribute) and analysis.roles.path(around.context, frame) == path:
            return True
        around = around.around
    return False

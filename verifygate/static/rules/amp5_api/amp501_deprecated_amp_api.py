"""A deprecated AMP interface is used.

## What it does
Reports calls and decorators of `torch.cuda.amp.*` and `torch.cpu.amp.*` (autocast, GradScaler, custom_fwd,
custom_bwd), under any alias, also where they are passed to `partial` or to a field's `default_factory`; and calls of
`torch.get_autocast_gpu_dtype` and the like, except behind a condition on the version.

## Why is this bad
They are deprecated since torch 2.4 and bind the code to one device. The replacements take the device type first, so
a plain rename breaks code: `torch.cuda.amp.autocast(flag)` means `enabled=flag`, `torch.amp.autocast(flag)` raises, and
`torch.amp.GradScaler(65536.0)` silently takes the scale for the device.

## What happens at run time
`FutureWarning: torch.cuda.amp.autocast(args...) is deprecated.` at each construction (torch 2.4 to 2.13).

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.cpu.amp.autocast(dtype=torch.float16):
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
        with torch.amp.autocast("cpu", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe: arguments are bound by the signatures of both, and imports are repaired. Where regions of the project take another
dtype, the dtype of the deprecated `autocast` is written out: the new one would keep that of the region around it.
Unsafe where the class itself is asked for (`isinstance`), or keywords that are not known may name the dtype.

## What it cannot see
Names reached through `getattr`, and interfaces re-exported by other packages. A use that stands in for the new
interface, in the handler of a `try` or the other branch of an `if`, is meant for older versions and is not reported.

## References
- https://docs.pytorch.org/docs/stable/amp.html
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate import torch_names
from verifygate.model import Applicability, Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="AMP501",
    name="deprecated-amp-api",
    severity=Severity.LOW,
    summary="torch.cuda.amp.* and torch.cpu.amp.* are deprecated",
    remedy="use torch.amp.* with the device type as the first argument",
    words=("cuda.amp", "cpu.amp", "cuda import amp", "cpu import amp", "autocast_gpu_dtype", "autocast_cpu_"),
    witnesses=(Witness.STATIC, Witness.RUN),
    torch="2.4",
    fix=Applicability.SAFE,
    proof="warning-seen",
)

_VERSIONS = r"(?i)version|hasattr|torch_?\d|_autocast_dtype"


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call and every bare decorator that is surely one of the deprecated names."""
    for node, callee, function in _uses(analysis):
        name = analysis.roles.known_name(callee, analysis.evaluator.root_frame(function))
        if name in torch_names.DEPRECATED:
            new, device = torch_names.DEPRECATED[name]
            if _is_fallback(node, function, (new, new.replace(".amp.", ".")), analysis):
                continue
            yield Match(
                Location(function, node),
                f"`{name}` is deprecated since torch 2.4",
                remedy=f'use `{new}` with `"{device}"` as its device type',
            )
        elif name in torch_names.DEPRECATED_STATE and not _is_asked_for(node, function, analysis):
            new, device = torch_names.DEPRECATED_STATE[name]
            if not _is_fallback(node, function, (new,), analysis):
                call = f'{new}("{device}"{", ..." if ".set_" in name else ""})'
                yield Match(Location(function, node), f"`{name}` is deprecated since torch 2.4", remedy=f"use `{call}`")


def _is_asked_for(node: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether a `try`, or a condition that asks for a version, chooses between old and new interfaces around a use."""
    around = [each.node for each in analysis.enclosing.around(node, function)]
    tests = [ast.unparse(each.test) for each in around if isinstance(each, ast.If | ast.IfExp)]
    return any(isinstance(each, ast.Try) for each in around) or any(re.search(_VERSIONS, test) for test in tests)


def _is_fallback(node: ast.expr, function: Function, new: tuple[str, ...], analysis: Analysis) -> bool:
    """Whether the other arm of the `try` or `if` around a use has what takes its place: this one is for older torch."""
    frame = analysis.evaluator.root_frame(function)
    for each in analysis.enclosing.around(node, function):
        others: list[ast.stmt] | list[ast.expr] = []
        if isinstance(each.node, ast.Try) and each.part == "handlers":
            others = each.node.body
        elif isinstance(each.node, ast.If) and each.part in ("body", "orelse"):
            others = each.node.orelse if each.part == "body" else each.node.body
        elif isinstance(each.node, ast.IfExp) and each.part in ("body", "orelse"):
            others = [each.node.orelse if each.part == "body" else each.node.body]
        calls = (inner for other in others for inner in walk(other) if isinstance(inner, ast.Call))
        if any(analysis.roles.known_name(call.func, frame) in new for call in calls):
            return True
    return False


def _uses(analysis: Analysis) -> Iterator[tuple[ast.expr, ast.expr, Function]]:
    """What is called, here or where it is handed over, or decorates without a call: the node, and the name in it."""
    for call, function in analysis.calls:
        yield call, call.func, function
        if (made := _handed_over(call, function, analysis)) is not None:
            yield made, made, function
    for deferred, function in analysis.of_kind(ast.Lambda):
        for node in walk(deferred.body):
            if isinstance(node, ast.Call):
                yield node, node.func, function
    for function in analysis.functions:
        for decorator in getattr(function.node, "decorator_list", ()):
            if not isinstance(decorator, ast.Call):
                yield decorator, decorator, function.module.body


def _handed_over(call: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """The class that makes a field's value, or that a `partial` completes."""
    for word in call.keywords:
        if word.arg == "default_factory":
            return word.value
    known = analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function))
    return call.args[0] if known == "functools.partial" and call.args else None

"""A deprecated AMP interface is used.

## What it does
Reports calls and decorators of `torch.cuda.amp.*` and `torch.cpu.amp.*` (autocast, GradScaler, custom_fwd,
custom_bwd), under any alias, also where they are passed to `partial` or to a field's `default_factory`; and calls of
`torch.get_autocast_gpu_dtype` and the like, except behind a condition on the version. The uses in one file that have
the same replacement are one finding, which lists them; uses that are only likely are not put among certain ones.

## Impact
A FutureWarning at each construction, until the torch version that removes the interface stops the program.

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
Safe: arguments are bound by the signatures of both, and imports are repaired. The device stays the one that the
deprecated name means, also where the program's own is a variable: `device.type` in its place would switch AMP on where
it was off, and is left to a person. Where regions of the project take another dtype, the dtype
of the deprecated `autocast` is written out: the new one would keep that of the region around it.
Unsafe where the class itself is asked for (`isinstance`), or keywords that are not known may name the dtype. No fix
where the project allows a torch that lacks the new name: `torch.amp.autocast` came with torch 1.12, `GradScaler` with
2.3, the others with 2.4.

## What it cannot see
Names reached through `getattr`, and interfaces re-exported by other packages. A use that stands in for the new
interface, in the handler of a `try` or the other branch of an `if`, is meant for older versions and is not reported;
nor is a name that another branch binds to the new interface, to a `partial` of it or to a function that returns it;
nor is anything where the project allows no torch from 2.4 on. Where the name may be bound to something else as well,
a finding is only likely.

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
from verifygate.static.values.domain import ClassValue, ExternalName, ExternalResult, Partial, Value

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

_DEVICES = frozenset({"cpu", "cuda", "hpu", "meta", "mps", "mtia", "npu", "xla", "xpu"})
_REPLACED = torch_names.DEPRECATED | torch_names.DEPRECATED_STATE
_VERSIONS = r"(?i)version|hasattr|torch_?\d|_autocast_dtype"


def check(analysis: Analysis) -> Iterable[Match]:
    """Every call and every bare decorator of one of the deprecated names; likely where another name is bound too."""
    for node, callee, function in _uses(analysis):
        name, certain = _deprecated(node, callee, function, analysis)
        if not name or (name in torch_names.DEPRECATED_STATE and _is_asked_for(node, function, analysis)):
            continue
        new, device = _REPLACED[name]
        if _is_fallback(node, function, name, analysis):
            continue
        remedy = f'use `{new}` with `"{device}"` as its device type'
        if name in torch_names.DEPRECATED_STATE:
            remedy = f'use `{new}("{device}"{", ..." if ".set_" in name else ""})`'
        yield Match(
            Location(function, node),
            f"`{name}` is deprecated since torch 2.4",
            certain=certain,
            remedy=remedy,
            cause=(function.module.path, new, device, certain),
        )


def _deprecated(node: ast.expr, callee: ast.expr, function: Function, analysis: Analysis) -> tuple[str, bool]:
    """The deprecated name that is called, and whether nothing else can be; none where its replacement can be, too."""
    frame = analysis.evaluator.root_frame(function)
    values = analysis.evaluator.values(callee, frame)
    found = sorted({value.name for value in values if isinstance(value, ExternalName)} & _REPLACED.keys())
    if not found:
        return "", False
    if len(values) == 1:
        return found[0], True
    made = analysis.evaluator.values(node, frame) if isinstance(node, ast.Call) else ()
    replaced = any(_is_new(each, name, analysis) for each in (*values, *made) for name in found)
    return ("", False) if replaced else (found[0], False)


def _is_new(value: Value, name: str, analysis: Analysis) -> bool:
    """Whether a value is the replacement of a name, its partial or an instance of it, for the same device."""
    match value:
        case ExternalName(name=new):
            return new in _names_of_new(name)
        case Partial(name=new, calls=calls) | ExternalResult(name=new, calls=calls):
            written = [device for call, _ in calls for device in _devices_written(call)]
            return new in _names_of_new(name) and set(written) <= {_REPLACED[name][1]}
        case ClassValue(made=made):
            return not analysis.evaluator.outside_bases(made).isdisjoint(_names_of_new(name))
    return False


def _names_of_new(name: str) -> tuple[str, ...]:
    new = _REPLACED[name][0]
    return new, new.replace(".amp.", ".")


def _is_asked_for(node: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether a `try`, or a condition that asks for a version, chooses between old and new interfaces around a use."""
    around = [each.node for each in analysis.enclosing.around(node, function)]
    tests = [ast.unparse(each.test) for each in around if isinstance(each, ast.If | ast.IfExp)]
    return any(isinstance(each, ast.Try) for each in around) or any(re.search(_VERSIONS, test) for test in tests)


def _is_fallback(node: ast.expr, function: Function, name: str, analysis: Analysis) -> bool:
    """Whether another branch has what takes the place of a use: this one is for older torch.

    A branch for another device takes no place.
    """
    inner: ast.AST = node
    for each in analysis.enclosing.around(node, function):
        others: list[ast.stmt] | list[ast.expr] = []
        for_device = False
        if isinstance(each.node, ast.Try) and each.part == "handlers":
            others = each.node.body
        elif isinstance(each.node, ast.If | ast.IfExp) and each.part in ("body", "orelse"):
            branch = each.node.orelse if each.part == "body" else each.node.body
            others = branch if isinstance(branch, list) else [branch]
            for_device = _asks_for_a_device(each.node.test)
        if _has_new(others, function, name, analysis, for_device=for_device):
            return True
        for guard in analysis.enclosing.tests_before(inner, each):
            if not isinstance(guard, ast.If) or not isinstance(guard.body[-1], ast.Return | ast.Raise):
                continue
            if _has_new(guard.body, function, name, analysis, for_device=_asks_for_a_device(guard.test)):
                return True
        inner = each.node
    return False


def _has_new(branch: Iterable[ast.AST], function: Function, name: str, analysis: Analysis, *, for_device: bool) -> bool:
    """Whether a branch calls the replacement for the same device, as far as that is written out."""
    calls = [inner for other in branch for inner in walk(other) if isinstance(inner, ast.Call)]
    for call in calls:
        if not _makes_new(call, function, name, analysis):
            continue
        written = _devices_written(call)
        if written:
            if written[0] == _REPLACED[name][1]:
                return True
        elif not for_device:
            return True
    return False


def _makes_new(call: ast.Call, function: Function, name: str, analysis: Analysis) -> bool:
    """Whether a call is one of the replacement of a name, or makes a partial of it."""
    callee = _completed(call, function, analysis) or call.func
    return analysis.roles.known_name(callee, analysis.evaluator.root_frame(function)) in _names_of_new(name)


def _devices_written(call: ast.Call) -> list[str]:
    """The type of device that a call of a new interface, or a `partial` of one, writes out."""
    devices = [*call.args[:2], *(word.value for word in call.keywords if word.arg in ("device", "device_type"))]
    return [
        each.value.partition(":")[0]
        for each in devices
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def _asks_for_a_device(test: ast.expr) -> bool:
    """Whether a condition compares with the name of a device, or asks whether there is one; not for a version."""
    if re.search(_VERSIONS, ast.unparse(test)):
        return False
    for node in walk(test):
        if isinstance(node, ast.Compare):
            texts = [
                each.value for each in walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            if any(text.partition(":")[0] in _DEVICES for text in texts):
                return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "is_available":
            return True
    return False


def _uses(analysis: Analysis) -> Iterator[tuple[ast.expr, ast.expr, Function]]:
    """What is called, here or where it is handed over, or decorates without a call: the node, and the name in it."""
    for call, function in analysis.calls:
        yield call, call.func, function
        if (made := _handed_over(call, function, analysis)) is not None:
            yield made, made, function
    for deferred, function in analysis.of_kind(ast.Lambda):
        for part in (deferred.body, *deferred.args.defaults, *filter(None, deferred.args.kw_defaults)):
            for node in walk(part):
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
    return _completed(call, function, analysis)


def _completed(call: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """What a `partial` completes."""
    known = analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function))
    return call.args[0] if known == "functools.partial" and call.args else None

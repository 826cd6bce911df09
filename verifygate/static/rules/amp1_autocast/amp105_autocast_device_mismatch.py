"""The region is for another type of device than the tensors in it.

## What it does
Reports

- a region with a literal device type, if the same function moves the tensors of the region to another type of device,
  or to one of several of which autocast covers only some (`mps` beside `cuda`);
- a device type that is turned into `"cpu"` for tensors on `mps`;
- a device type that is `"cuda"` wherever CUDA is there, over tensors on a device that a setting chooses;
- a `torch.device` passed where its type is expected.

Not reported: regions switched by a condition on the device, and `autocast("cuda")` over a plain fallback to the CPU,
where AMP is meant to be off.

## Impact
Autocast changes nothing: training runs in float32, with all its memory and time, while settings and logs say mixed
precision.

## Why is this bad
Autocast changes only operations on tensors of its own device type. For all others the region does nothing: training
runs in float32 at full memory and half the speed, while settings and logs say mixed precision.

## What happens at run time
Silent. Seen on torch 2.13: under `autocast("xpu", dtype=torch.float16)` a linear layer on CPU tensors gives float32.
`autocast("cuda")` on a machine without CUDA warns once and switches itself off. `torch.autocast(torch.device("cuda"))`
raises a ValueError since torch 2.1.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    place = torch.device("cpu")
    model = model.to(place)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs.to(place)), targets.to(place))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    place = torch.device("cpu")
    model = model.to(place)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(place.type, dtype=torch.float16):
            loss = loss_fn(model(inputs.to(place)), targets.to(place))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: `device.type` is mostly right, but switches AMP on where it was off.

## What it cannot see
Devices from a command line or a configuration, and tensors that another function moves.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.naming import names_a_model_or_tensor
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.devices import ANY, Devices
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Bound, ExternalName, ExternalResult, Frame, Unknown
from verifygate.torch_names import AUTOCASTS

RULE = Rule(
    code="AMP105",
    name="autocast-device-mismatch",
    severity=Severity.HIGH,
    summary="autocast is for another type of device than the tensors in it: AMP is silently off",
    remedy="pass the tensors' own device type: `torch.autocast(device.type, ...)`",
    words=("autocast",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="dtype-census",
)

_DEVICE_WORDS = ("cuda", "mps", "cpu", "device", "is_available")


def check(analysis: Analysis) -> Iterable[Match]:
    """Active regions that nothing about the device switches."""
    devices = Devices(analysis.roles)
    yield from _given_a_device(analysis)
    for region in analysis.written_regions.all:
        frame = analysis.evaluator.root_frame(region.function)
        if not region.is_active or region.region.device is None or _is_switched(region, frame, analysis):
            continue
        message, certain = _mismatch(region, frame, devices, analysis)
        if message:
            yield Match(region.place, message, certain=certain)


def _given_a_device(analysis: Analysis) -> Iterator[Match]:
    """`torch.autocast(model.device)`: an object where the word for its type is asked for."""
    for function in analysis.functions:
        frame = analysis.evaluator.root_frame(function)
        for call in function.calls:
            first = call.args[0] if call.args else None
            first = next((word.value for word in call.keywords if word.arg == "device_type"), first)
            if first is None or last_name(call.func) != "autocast" or not isinstance(first, ast.Name | ast.Attribute):
                continue
            names = {
                value.name for value in analysis.evaluator.values(call.func, frame) if isinstance(value, ExternalName)
            }
            if not names or any(AUTOCASTS.get(name, "") is not None for name in names):
                continue
            values = analysis.evaluator.values(first, frame)
            certain = bool(values) and all(isinstance(v, ExternalResult) and v.name == "torch.device" for v in values)
            if certain or _is_place_of_a_module(first, frame, analysis):
                message = f"`{ast.unparse(first)}` is a torch.device, autocast asks for its type: it raises"
                remedy = f"pass `{ast.unparse(first)}.type`"
                yield Match(Location(function, call), message, certain=certain, remedy=remedy)


def _is_place_of_a_module(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """`model.device`: what says where a model or a tensor is; a setting of that name may be a text."""
    if not (isinstance(expr, ast.Attribute) and expr.attr == "device" and isinstance(expr.value, ast.Name)):
        return False
    unknown = all(isinstance(value, Unknown | ExternalResult) for value in analysis.evaluator.values(expr, frame))
    return unknown and names_a_model_or_tensor(expr.value.id)


def _is_switched(region: WrittenRegion, frame: Frame, analysis: Analysis) -> bool:
    """Whether the context may be another one, or none, depending on the device."""
    values = analysis.evaluator.values(region.context, frame)
    if any(not (isinstance(value, ExternalResult) and value.name in AUTOCASTS) for value in values) or len(values) != 1:
        return True
    enabled = region.region.enabled
    return enabled is not None and any(word in _spelled_out(enabled, analysis) for word in _DEVICE_WORDS)


def _spelled_out(bound: Bound, analysis: Analysis) -> str:
    """The source of a condition, with that of the names in it."""
    texts = [ast.unparse(bound.expr)]
    for node in walk(bound.expr):
        if isinstance(node, ast.Name) and (found := analysis.evaluator.lookup(node.id, bound.frame)):
            texts += [ast.unparse(each.expr) for each in found[0] if each.expr is not None]
    return " ".join(texts)


def _mismatch(region: WrittenRegion, frame: Frame, devices: Devices, analysis: Analysis) -> tuple[str, bool]:
    """What is wrong with the device type of a region, or the empty string; and whether that is certain."""
    device = region.region.device
    if isinstance(device, Bound) and not isinstance(device.expr, ast.Constant):
        if _maps_mps_to_cpu(device, devices):
            return "`mps` tensors are put under `autocast('cpu')`, which does nothing to them", False
        if asked := _asks_a_device_for_text(device, devices):
            return (
                f"`{asked}` is false for every torch.device: autocast is for the CPU, wherever the tensors are",
                False,
            )
        if asked := _asks_what_is_there(device, region, frame, analysis):
            return f"autocast is for `cuda` wherever CUDA is there, and `{asked}` may put its tensors on the CPU", False
        return "", False
    types = devices.types(device.expr, device.frame) if isinstance(device, Bound) else frozenset({str(device)})
    if len(types) != 1 or ANY in types:
        return "", False
    (own,) = types
    moves = devices.placed(region, frame)
    placed = frozenset[str]().union(*(types for _, types in moves))
    if own == "cpu" and not _always_runs([node for node, _ in moves], region, analysis):
        placed |= {"cpu"}  # where tensors are unless something moves them
    others = sorted(placed - {own, "cpu", ANY})
    if placed and own not in placed and ANY not in placed:
        return f"autocast for `{own}` over tensors on {_listed(sorted(placed))}: it changes nothing there", True
    if others and own in placed:
        return f"autocast for `{own}` over tensors that may be on {_listed(others)}: it changes nothing there", False
    return "", False


def _always_runs(nodes: list[ast.AST], region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether one of some nodes runs in any case before the region is entered: in one arm or the other."""
    nesting, function = analysis.enclosing, region.function
    around = nesting.conditions(region.block, function)
    ways = [[each for each in nesting.conditions(node, function)[::-1] if each not in around] for node in nodes]
    return _leave_no_way_out(ways)


def _leave_no_way_out(ways: list[list[tuple[ast.expr, bool]]]) -> bool:
    """Whether, of lists of conditions that hold (outermost first), one holds in any case."""
    if [] in ways or not ways:
        return [] in ways
    test = ways[0][0][0]
    return all(_leave_no_way_out([way[1:] for way in ways if way[0] == (test, holds)]) for holds in (True, False))


def _maps_mps_to_cpu(device: Bound, devices: Devices) -> bool:
    """Whether a device type is chosen as `"cpu"` where something is `"mps"`."""
    for expr in _choices(device, devices):
        match expr:
            case ast.IfExp(
                test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value="mps")]),
                body=ast.Constant(value="cpu"),
            ):
                return True
            case ast.IfExp(
                test=ast.Compare(ops=[ast.NotEq()], comparators=[ast.Constant(value="mps")]),
                orelse=ast.Constant(value="cpu"),
            ):
                return True
    return False


def _asks_a_device_for_text(device: Bound, devices: Devices) -> str:
    """The comparison by which a device type is chosen, where it is one of a torch.device with a text: never equal."""
    for expr in _choices(device, devices):
        match expr:
            case ast.IfExp(
                test=ast.Compare(left=asked, ops=[ast.Eq()], comparators=[ast.Constant(value="cuda")]) as test
            ):
                values = devices.roles.evaluator.values(asked, device.frame)
                made = [value for value in values if isinstance(value, ExternalResult)]
                known = all(isinstance(value, ExternalResult | Unknown) for value in values)
                if known and made and all(value.name == "torch.device" for value in made):
                    return ast.unparse(test)
    return ""


def _asks_what_is_there(device: Bound, region: WrittenRegion, frame: Frame, analysis: Analysis) -> str:
    """What moves the tensors of a region to a device that a setting chooses, where the region's asks for CUDA alone."""
    devices = analysis.devices
    chosen = [each for each in _choices(device, devices) if isinstance(each, ast.IfExp)]
    if not chosen or not all(_is_availability(each.test, device.frame, analysis) for each in chosen):
        return ""
    if devices.types(device.expr, device.frame) != {"cuda", "cpu"}:
        return ""
    for node, types in devices.placed(region, frame):
        if types == {"cuda", "cpu"}:
            for place in _places(node):
                tests = list(_tests(place, frame, analysis))
                if tests and not all(_is_availability(test, home, analysis) for test, home in tests):
                    return ast.unparse(place)
    return ""


def _places(node: ast.AST) -> Iterator[ast.expr]:
    """The device that a move names: `x.to(device)`, `torch.zeros(3, device=device)`."""
    call = node.value if isinstance(node, ast.Assign) else node
    if isinstance(call, ast.Call):
        yield from (*call.args[:1], *(word.value for word in call.keywords if word.arg == "device"))


def _tests(expr: ast.expr, frame: Frame, analysis: Analysis, steps: int = 3) -> Iterator[tuple[ast.expr, Frame]]:
    """The conditions that choose a device, in its expression or in the definitions of its names."""
    for node in walk(expr):
        if isinstance(node, ast.IfExp):
            yield node.test, frame
        elif isinstance(node, ast.Name | ast.Attribute) and steps:
            for binding, home in analysis.dtype_values.bindings(node, frame):
                if binding.expr is not None and binding.kind == "value":
                    yield from _tests(binding.expr, home, analysis, steps - 1)
                    yield from ((test, home) for test, _ in analysis.enclosing.conditions(binding.node, home.function))


def _is_availability(test: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether a condition is `torch.cuda.is_available()` and nothing else, perhaps by a name."""
    values = analysis.evaluator.values(test, frame)
    return bool(values) and all(
        isinstance(value, ExternalResult) and value.name == "torch.cuda.is_available" for value in values
    )


def _choices(device: Bound, devices: Devices) -> list[ast.expr]:
    """The expression of a device type, or what the variable that it is was given."""
    if not isinstance(device.expr, ast.Name):
        return [device.expr]
    found = devices.roles.evaluator.lookup(device.expr.id, device.frame)
    return [each.expr for each in found[0] if each.expr is not None] if found else []


def _listed(types: list[str]) -> str:
    return " or ".join(f"`{each}`" for each in types)

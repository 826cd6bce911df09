"""A gradient penalty differentiates unscaled outputs of half precision, or keeps the scale in it.

## What it does
Reports `torch.autograd.grad(..., create_graph=True)` in a project with a GradScaler, if

- it, or the call that leads to it, is inside a float16 autocast region, and neither are the outputs scaled nor is the
  result divided by the scale;
- its outputs are scaled, and what it gives flows into no division by the scale, here, in a call or in a caller;
- its result is divided by the scale, and neither the function nor a caller scaled the outputs (likely).

The same where a framework computes in float16 and scales: in `training_step` of a LightningModule and what it calls,
and of the outputs of a model that `prepare` or `setup` returned, or that transformers hands to `compute_loss`.

## Impact
The penalty acts on gradients that have become zero below 6e-8, or pulls them towards a length of 1/65536.

## Why is this bad
The gradients of a penalty are small, and inside the graph they are float16: without a scale they flush to zero below
6e-8, and the penalty acts on what is left. The scaler cannot help: it scales the loss, not this inner derivative.
A penalty on gradients that are still multiplied by the scale pulls them towards a length of 1/65536, and changes with
every backoff.

## What happens at run time
Silent (torch 2.13): the inner gradients lose their small values before the penalty is computed, or are 65536 times
too large in it.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        inputs = inputs.clone().requires_grad_(True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
            (slope,) = torch.autograd.grad(outputs=loss, inputs=inputs, create_graph=True)
            loss = loss + 10 * slope.float().norm(dim=1).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        inputs = inputs.clone().requires_grad_(True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        (slope,) = torch.autograd.grad(outputs=scaler.scale(loss), inputs=inputs, create_graph=True)
        slope = slope / scaler.get_scale()
        with torch.autocast(device, dtype=torch.float16):
            loss = loss + 10 * slope.float().norm(dim=1).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: the penalty may also be computed in float32 instead.

## What it cannot see
Penalties made by libraries; outputs that one function computes under autocast and another differentiates outside it.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-penalty
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.idioms.delegated_autocast import model_of_a_framework, region_of_a_step
from verifygate.static.idioms.derivative_scales import (
    CALLS_FOLLOWED,
    asks_for_scale_by_name,
    called_a_scale,
    is_divided,
)
from verifygate.static.idioms.framework_loops import HOOK_WORDS, LOOP_WORDS, judged
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Unknown

RULE = Rule(
    code="AMP205",
    name="gradient-penalty-unscaled",
    severity=Severity.HIGH,
    summary="a gradient penalty differentiates unscaled half-precision outputs",
    remedy="scale the outputs and divide the result by `scaler.get_scale()`, or compute the penalty in float32",
    words=("GradScaler", "autocast", *LOOP_WORDS, *HOOK_WORDS),
    beside=("create_graph",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="gradient-flush",
)

_PENALTY = r"(?i)penal|(^|_|\d)gp(_|\d|$)|(^|_)r[12](_|$)|_reg(_|$)|regulari|lipschitz"
"""Names of functions in which an inner derivative becomes part of a loss."""


def check(analysis: Analysis) -> Iterator[Match]:
    """Inner derivatives in half precision that nothing scales."""
    if any(call.method in ("scale", "step", "get_scale") for call in analysis.scaler_calls):
        yield from _beside_a_scaler(analysis)
    yield from _in_frameworks(analysis)


def _in_frameworks(analysis: Analysis) -> Iterator[Match]:
    """Those of what a framework computes in float16, whose scaler does not see them."""
    for call, function in analysis.calls:
        if not function.module.mentions(b"create_graph") or not _is_penalty(call, function, analysis):
            continue
        if analysis.region_coverage.written_around(call, function) is not None:
            continue
        outputs = _outputs(call)
        handle = region_of_a_step(call, function, analysis)
        if handle is None and outputs is not None:
            handle = model_of_a_framework(outputs, function, analysis)
        if handle is None or _is_scaled(call, function, analysis) or is_divided(call, function, analysis, 0):
            continue
        place = Location(function, call)
        message = f"`{statement_text(place)}` differentiates outputs that {handle.framework.name} computes in half"
        match = judged(place, f"{message} precision, and that nothing scales", handle, ((place, "inner derivative"),))
        if match is not None:
            yield match


def _beside_a_scaler(analysis: Analysis) -> Iterator[Match]:
    """Those in float16 regions of the project's own, in a project with a GradScaler."""
    seen: set[ast.AST] = set()
    for call, function in analysis.calls:
        if "grad" not in last_name(call.func) or not _is_penalty(call, function, analysis):
            continue
        if stale := _read_on_loading(function, analysis):
            message = f"`{statement_text(stale)}` reads the scale once, on loading the file: each update changes it"
            steps = ((stale, "the scale is read"), (Location(function, call), "inner derivative"))
            yield Match(
                Location(function, call), message, steps=steps, remedy="ask for `scaler.get_scale()` in each step"
            )
            continue
        if _stays_scaled(call, function, analysis):
            place = Location(function, call)
            message = f"`{statement_text(place)}` differentiates scaled outputs, and nothing divides by the scale"
            yield Match(place, message)
        if _only_divided(function, analysis):
            place = Location(function, call)
            message = f"`{statement_text(place)}` differentiates outputs that nothing scales, and divides by the scale"
            yield Match(place, message, certain=False, remedy="differentiate `scaler.scale(outputs)`")
        if _is_scaled(call, function, analysis):
            continue
        if is_divided(call, function, analysis, 0):
            if (by := called_a_scale(call, function, analysis)) is not None:
                reason = f"whether `{ast.unparse(by)}` is the loss scale, by which this derivative is divided, "
                analysis.gave_up(Location(function, call), f"{reason}cannot be told", RULE.code)
            continue
        places = _half_places(call, function, analysis, CALLS_FOLLOWED)
        if not places and (made := _made_in_half(call, function, analysis)):
            place = Location(function, call)
            message = f"`{statement_text(place)}` differentiates half-precision outputs that nothing scales"
            yield Match(place, message, steps=((made, "made in a float16 region"), (place, "inner derivative")))
            continue
        if not places and (region := _guessed(call, function, analysis)):
            place = Location(function, call)
            message = (
                f"`{statement_text(place)}` differentiates unscaled outputs, half where this module runs in a region"
            )
            yield Match(place, message, certain=False, steps=((region.place, "in a float16 region"),))
        for place in places:
            if place.node not in seen:
                seen.add(place.node)
                steps = ((place, "in a float16 region"), (Location(function, call), "inner derivative"))
                message = f"`{statement_text(place)}` differentiates half-precision outputs that nothing scales"
                yield Match(place, message, steps=steps)


def _is_penalty(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    frame = analysis.evaluator.root_frame(function)
    if analysis.roles.known_name(call.func, frame) not in ("torch.autograd.grad", "torch.autograd.functional.grad"):
        return False
    wanted = next((word.value for word in call.keywords if word.arg == "create_graph"), None)
    return isinstance(wanted, ast.Constant) and wanted.value is True


def _stays_scaled(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether the outputs are scaled in the call itself, and the derivative flows into no division by the scale."""
    if not any(each.method == "scale" and each.call in set(walk(call)) for each in analysis.scaler_calls):
        return False
    return not is_divided(call, function, analysis, CALLS_FOLLOWED)


def _only_divided(function: Function, analysis: Analysis) -> bool:
    """Whether the function divides by the scale, and nothing in it or in a call of it has scaled the outputs."""
    nodes = list(walk(function.node))
    if any(isinstance(node, ast.Attribute) and node.attr == "scale" for node in nodes):
        return False
    bindings = (each for bound in function.scope.names.values() for each in bound)
    asking = [each for each in bindings if _asks_for_scale(each.expr)]
    names = {
        target.id
        for each in asking
        for target in walk(each.node)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
    }
    operations = [node for node in nodes if isinstance(node, ast.BinOp)]
    for each in operations:
        if isinstance(each.op, ast.Mult) and any(_is_scale(part, names) for part in (each.left, each.right)):
            return False  # by hand
    if not any(isinstance(each.op, ast.Div) and _speaks_of(each.right, names) for each in operations):
        return False
    sites = analysis.call_graph.sites(function)
    return bool(sites) and not any(
        _is_scaled(site.call, site.caller, analysis) or any(map(asks_for_scale_by_name, site.caller.own_nodes))
        for site in sites
    )


def _asks_for_scale(expr: ast.expr | None) -> bool:
    return expr is not None and any(isinstance(node, ast.Attribute) and node.attr == "get_scale" for node in walk(expr))


def _is_scale(expr: ast.expr, names: set[str]) -> bool:
    return isinstance(expr, ast.Name) and expr.id in names


def _speaks_of(expr: ast.expr, names: set[str]) -> bool:
    return _asks_for_scale(expr) or any(isinstance(node, ast.Name) and node.id in names for node in walk(expr))


def _read_on_loading(function: Function, analysis: Analysis) -> Location | None:
    """Where a file reads the scale as it is loaded, if the function takes it from there."""
    if not any(each.method == "update" for each in analysis.scaler_calls):
        return None
    frame, module = analysis.evaluator.root_frame(function), function.module.body
    for name in sorted({node.id for node in walk(function.node) if isinstance(node, ast.Name)}):
        bindings, home = analysis.evaluator.lookup(name, frame) or ([], frame)
        exprs = [each.expr for each in bindings if each.kind == "value" and each.expr is not None]
        if home.function is not module or module is function or not len(exprs) == len(bindings) == 1:
            continue
        asks = any(isinstance(node, ast.Attribute) and node.attr == "get_scale" for node in walk(exprs[0]))
        if asks and not analysis.enclosing.loops(exprs[0], module):
            return Location(module, exprs[0])
    return None


def _half_places(node: ast.AST, function: Function, analysis: Analysis, depth: int) -> list[Location]:
    """The node, or the calls that lead to it, where they stand in a float16 region."""
    for region in reversed(analysis.written_regions.by_function.get(function, [])):
        if node in region.nodes:
            is_half = region.is_active and _is_float16(region, analysis)
            is_half = is_half and not _may_contradict(region.context, node, function, analysis)
            return [Location(function, node)] if is_half else []
    sites = (
        [site for site in analysis.call_graph.sites(function) if not _scales(site.call, site.caller, analysis)]
        if depth
        else []
    )
    if depth == CALLS_FOLLOWED and not _gives_a_penalty(function):
        sites = [site for site in sites if re.search(_PENALTY, site.caller.name)]
    return [place for site in sites for place in _half_places(site.call, site.caller, analysis, depth - 1)]


def _gives_a_penalty(function: Function) -> bool:
    """Whether the name of a function, of its class or of what it returns says that it is a penalty."""
    names = [*function.symbol.split("."), *(each.id for each in function.returns if isinstance(each, ast.Name))]
    return any(re.search(_PENALTY, name) for name in names)


def _made_in_half(call: ast.Call, function: Function, analysis: Analysis) -> Location | None:
    """Where the function itself makes, in a float16 region, what is differentiated behind it."""
    regions = analysis.written_regions.by_function.get(function, [])
    if any(call in region.nodes for region in regions):
        return None
    outputs = _outputs(call)
    names = {node.id for node in walk(outputs) if isinstance(node, ast.Name)} if outputs is not None else set()
    made = {binding.node for name in names for binding in function.scope.names.get(name, ())}
    half = [region for region in regions if region.is_active and _is_float16(region, analysis)]
    places = [Location(function, node) for region in half for node in region.nodes if node in made]
    return places[0] if places and len(places) == len(made) else None


def _outputs(call: ast.Call) -> ast.expr | None:
    """What a derivative is taken of."""
    return call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "outputs"), None)


def _guessed(call: ast.Call, function: Function, analysis: Analysis) -> WrittenRegion | None:
    """The float16 region in which a call that cannot be followed may run the module that asks for the penalty."""
    cover = analysis.region_coverage.cover(call, function)
    if cover is None or cover.certain or not re.search(_PENALTY, function.name):
        return None
    if analysis.region_coverage.trains_not(cover.region):
        return None  # what is in sight of it needs no penalty
    if any(_scales(site.call, site.caller, analysis) for site in analysis.call_graph.sites(function)):
        return None
    return cover.region if _is_float16(cover.region, analysis) else None


def _is_float16(region: WrittenRegion, analysis: Analysis) -> bool:
    # what trains with a penalty and follows the device is written for CUDA
    return analysis.region_dtypes.of(region, AssumedDevice.CUDA) == {Dtype.FLOAT16}


def _may_contradict(context: ast.expr, node: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether the node may run only where the region's own condition (`autocast() if not x else ...`) fails."""
    if not isinstance(context, ast.IfExp):
        return False
    off = [each for each in walk(context.test) if isinstance(each, ast.UnaryOp)]
    for test, holds in analysis.enclosing.conditions(node, function):
        text = ast.unparse(test)
        for each in off:
            if ast.unparse(each.operand) in text and not (holds and ast.unparse(each) in text):
                return True
    return False


def _is_scaled(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether what a call is given is scaled where it stands or is bound."""
    bound = [
        binding.expr
        for node in walk(call)
        if isinstance(node, ast.Name)
        for binding in function.scope.names.get(node.id, ())
        if binding.expr is not None
    ]
    return any(_scales(each, function, analysis) for each in (call, *bound))


def _scales(expr: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether an expression asks for the scale, or has something scaled by what may be a scaler."""
    return any(asks_for_scale_by_name(node) or _is_scaling(node, function, analysis) for node in walk(expr))


def _is_scaling(node: ast.AST, function: Function, analysis: Analysis) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=scaler, attr="scale")):
            frame = analysis.evaluator.root_frame(function)
            known = all(not isinstance(value, Unknown) for value in analysis.evaluator.values(scaler, frame))
            return not known or analysis.roles.scaler(scaler, frame) is not None
    return False

"""The loss is computed outside the region, on the half-precision outputs of the model.

## What it does
Reports a loss, called after a region in float16 or bfloat16 and outside every other, that gets what a call in that
region returned, where nothing casts it between. What a function of the project makes of outputs and targets is a loss
where it is what goes through `scale` or `backward`; so is what is written out by hand with logarithms and exponentials.
The region may be in the forward of the model, or in a function that hands the output to the caller who computes the
loss. Losses of the project that cast their inputs themselves are left alone, and so are those of torch in which float32
targets promote the outputs (`mse_loss`, `l1_loss`, `binary_cross_entropy_with_logits`).

## Impact
In float16 the first step is skipped for inf and the loss scale never stays above 32768; in bfloat16 the gradients of
a loss over 1000 classes were off by 1.4 %.

## Why is this bad
Inside the region autocast runs losses in float32. Outside it nothing does: logarithms, exponentials and sums run in
float16 and round or overflow, and the gradient of the output is float16, too, so a loss scale of 65536 is inf in it.

## What happens at run time
Silent. Seen on torch 2.13 (CPU): with a mean loss the first step is skipped for inf, and the loss scale can never stay
above 32768. With bfloat16, whose range is wide, precision is lost, and the severity is low: over 1000 classes a cross
entropy comes out as 11.125 in place of 11.230, and its gradients are wrong by 1.4 % (median), ten times what rounding
the right ones to bfloat16 does.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
        loss = loss_fn(outputs, targets)
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
            outputs = model(inputs)
            loss = loss_fn(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: casting with `.float()` and moving the loss into the region are both right, and differ in memory.

## What it cannot see
Whether the model's last operation gives half precision (a softmax does not, on CUDA): findings are likely, never
certain. Losses in another function than the region, but for one that calls the function of the region itself.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

import ast
import re
from collections.abc import Iterable

from verifygate.model import Severity, Witness
from verifygate.naming import (
    names_a_loss_function,
    reports_a_loss,
)
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.differentiated_values import is_differentiated
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.idioms.half_outputs import (
    casts,
    casts_itself,
    follow_assignment,
    half_in,
    multiplies_last,
    outputs_of,
    reshaped,
    taken_from,
)
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult, Object

RULE = Rule(
    code="AMP110",
    name="loss-outside-autocast",
    severity=Severity.MEDIUM,
    summary="a loss is computed outside the autocast region on its half-precision outputs",
    remedy="compute the loss inside the region, or cast the outputs with `.float()` first",
    words=("autocast",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-trace-default",
)

_LOSS_FUNCTIONS = r"^torch\.nn\.functional\.(.*loss|.*cross_entropy.*|kl_div)$"
_LOGARITHMS = r"^torch\.(nn\.functional\.)?log_softmax$"
_PROMOTES = r"(?i)mse|l1|huber|with_?logits|kl_?div|poisson|gaussian"
"""Losses of torch that take float32 targets beside the outputs, and by that compute in float32 anywhere."""
_REDUCES = r"log|exp|soft|sigmoid|sum|mean|norm|entropy|similarity|pow"
"""What a loss that is written out calls; what only weighs the losses of a model does not."""
_BY_HAND = frozenset({"log_softmax", "softmax", "logsumexp", "log", "log1p", "exp", "expm1", "logsigmoid", "softplus"})
"""Operations that autocast runs in float32, and that lose digits or overflow in float16."""
_NO_TENSORS = frozenset({"math", "np", "numpy", "logger", "logging", "wandb", "self"})
_LEVELS = 2
"""Functions that only hand on what another one gives."""
_LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break


def check(analysis: Analysis) -> Iterable[Match]:
    """Outermost active regions, by the variables that they leave behind, and by what their functions hand out."""
    found: dict[ast.Call, Match] = {}
    for region in analysis.written_regions.all:
        if region.is_active and region.around is None:
            # without `**options`: one that gets bfloat16 in them counts as one whose dtype is not told
            keeps_range = analysis.region_dtypes.of(region, reads_options=False) == {Dtype.BFLOAT16}
            function = region.function
            if region.block is not function.node:
                for call, name in _losses_after(region.block, outputs_of(region, analysis), function, analysis):
                    found.setdefault(call, _match(call, name, function, region, keeps_range))
            for call, name, home in _losses_of_callers(region, analysis):
                found.setdefault(call, _match(call, name, home, region, keeps_range))
    yield from found.values()


def _match(call: ast.Call, name: str, function: Function, region: WrittenRegion, keeps_range: bool) -> Match:
    place = Location(function, call)
    dtype = "bfloat16, with eight bits of precision" if keeps_range else "half precision"
    return Match(
        place,
        f"`{statement_text(place)}` runs outside autocast on `{name}`, which the region leaves in {dtype}",
        certain=False,
        steps=((region.place, "autocast region"),),
        severity=None if _trains(function) and not keeps_range else Severity.LOW,
    )


def _losses_after(
    block: ast.AST, names: set[str], function: Function, analysis: Analysis
) -> Iterable[tuple[ast.Call, str]]:
    """The losses behind a region, or a call, that get one of its outputs as it is, and the name of the output."""
    if not names:
        return
    end = getattr(block, "end_lineno", None) or 0
    covered = {node for each in analysis.written_regions.by_function.get(function, ()) for node in each.nodes}
    for node in function.own_nodes:
        if getattr(node, "lineno", 0) <= end or node in covered or not names:
            continue
        if isinstance(node, ast.Assign | ast.For):
            if _follows(block, node, function, analysis.enclosing):
                follow_assignment(node, names, function, analysis)
        elif isinstance(node, ast.Call) and (
            _is_loss(node, function, analysis)
            or _is_written_out(node, function, analysis)
            or _is_by_hand(node, function, analysis)
        ):
            given = [name for argument in _operands(node) if (name := half_in(argument, names))]
            if given and _follows(block, node, function, analysis.enclosing) and not _is_reached(function, analysis):
                yield node, given[0]


def _is_reached(function: Function, analysis: Analysis) -> bool:
    """Whether a function is called in a region: what stands behind its own runs in that one."""
    cover = analysis.region_coverage.reached.get(function)
    return cover is not None and cover.certain


def _operands(call: ast.Call) -> list[ast.expr]:
    """What a call works on: what it is given, and for a method of a tensor the tensor."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _BY_HAND else None
    return [*([receiver] if receiver is not None else []), *call.args]


def _losses_of_callers(region: WrittenRegion, analysis: Analysis) -> Iterable[tuple[ast.Call, str, Function]]:
    """The losses that callers of the region's function compute, outside of regions, of what it hands out as half."""
    queue = [(region.function, position, 0) for position in _handed_out(region, analysis)]
    seen: set[tuple[ast.Call, int | None]] = set()
    while queue:
        function, position, level = queue.pop(0)
        for site in analysis.call_graph.sites(function):
            call, caller = site.call, site.caller
            around = analysis.region_coverage.written_around(call, caller)
            if (call, position) in seen or around is not None or _is_reached(caller, analysis):
                continue
            seen.add((call, position))
            outer = analysis.enclosing.parent(call, caller)
            if isinstance(outer, ast.Call) and position is None and call in outer.args:
                if _is_loss(outer, caller, analysis):
                    yield outer, ast.unparse(call.func), caller
            elif isinstance(outer, ast.Assign):
                names = _bound_to(outer, call, position)
                for loss, name in _losses_after(outer, names, caller, analysis):
                    yield loss, name, caller
            elif isinstance(outer, ast.Return) and level < _LEVELS:
                queue.append((caller, position, level + 1))


def _bound_to(node: ast.Assign, call: ast.Call, position: int | None) -> set[str]:
    """The variables that get what a call gives, or one part of it."""
    found: set[str] = set()
    for target in node.targets if node.value is call else ():
        if isinstance(target, ast.Tuple | ast.List):
            target = target.elts[position] if position is not None and position < len(target.elts) else target
        elif position is not None:
            continue
        if isinstance(target, ast.Name):
            found.add(target.id)
    return found


def _handed_out(region: WrittenRegion, analysis: Analysis) -> list[int | None]:
    """Which results of its function leave a region in half precision: None for the whole, else parts of a tuple."""
    function = region.function
    if function.is_generator or _casts_result(function):
        return []
    inside = set(region.nodes)
    names = {
        name
        for name in outputs_of(region, analysis)
        if all(binding.node in inside or binding.kind == "parameter" for binding in function.scope.names.get(name, ()))
    }
    results = [each for each in function.returns if not (isinstance(each, ast.Constant) and each.value is None)]
    sizes = {len(each.elts) if isinstance(each, ast.Tuple) else 0 for each in results}
    if len(sizes) != 1:
        return []
    size = sizes.pop()
    positions: list[int | None] = list(range(size)) if size else [None]
    parts = {number: [each.elts[number] if number is not None else each for each in results] for number in positions}  # type: ignore[attr-defined]
    return [
        number
        for number, exprs in parts.items()
        if all(taken_from(each) in names or (each in inside and _is_output(each, function, analysis)) for each in exprs)
    ]


def _casts_result(function: Function) -> bool:
    """Whether a decorator may do something about what a function gives: any but those of torch and of Python."""
    decorators = [ast.unparse(each) for each in getattr(function.node, "decorator_list", ())]
    return any(not re.search(r"autocast|amp|no_grad|method|property|override", each) for each in decorators)


def _is_output(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether an expression calls a model, or a layer that multiplies matrices."""
    call = reshaped(expr)
    if not isinstance(call, ast.Call) or names_a_loss_function(last_name(call.func)):
        return False
    values = analysis.evaluator.values(call.func, analysis.evaluator.root_frame(function))
    if any(isinstance(value, Object) and casts_itself(value.made, 0, analysis) for value in values):
        return False
    return (
        analysis.hot_loops.is_model(call.func, function)
        and all(not isinstance(value, ExternalResult) or multiplies_last(value, analysis) for value in values)
    ) or (bool(values) and all(isinstance(each, ExternalResult) and multiplies_last(each, analysis) for each in values))


def _is_loss(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether the call computes a loss, and casts nothing itself as far as its source is at hand."""
    frame = analysis.evaluator.root_frame(function)
    name = last_name(call.func)
    known = analysis.roles.known_name(call.func, frame)
    values = analysis.evaluator.values(call.func, frame)
    made = {value.name for value in values if isinstance(value, ExternalResult)}
    is_torch = any(re.match(r"torch\.nn\.\w*Loss$", each) for each in made)
    if any(each.startswith("torch.nn.") and re.search(_PROMOTES, each) for each in (known, *made)):
        return False
    is_named = names_a_loss_function(name) or any(
        isinstance(value, Object) and value.made.symbol.endswith("Loss") for value in values
    )
    callees = analysis.evaluator.callees(call, frame)
    if not (is_torch or re.match(_LOSS_FUNCTIONS, known) or (is_named and not reports_a_loss(name))):
        within = [each.func for callee in callees for each in callee.function.calls]
        reduces = any(isinstance(each, ast.Attribute) and re.search(_REDUCES, each.attr) for each in within)
        if not reduces or any(re.search(_PROMOTES, last_name(each)) for each in within):
            return False
        if not _is_trained_on(call, function, analysis):
            return False
    return not any(casts(callee.function.node) for callee in callees)


def _is_trained_on(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether what a function makes of outputs and targets is the very value that is scaled, or derived by itself."""
    if len(call.args) < 2 or any(isinstance(each, ast.Constant) for each in call.args):
        return False
    names = {
        target.id
        for target, binding in bound_targets(function.own_nodes)
        if binding.expr is call and binding.kind == "value" and isinstance(target, ast.Name)
    }
    frame = analysis.evaluator.root_frame(function)
    for each in function.calls:
        match each.func:
            case ast.Attribute(attr="scale", value=scaler) if each.args and analysis.roles.scaler(scaler, frame):
                taken = each.args[0]
            case ast.Attribute(attr="backward", value=taken):
                pass
            case _:
                continue
        if taken is call or (isinstance(taken, ast.Name) and taken.id in names):
            return True
    return False


def _is_written_out(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether the call is part of a likelihood that is written out: `-(log_softmax(logits) * target).sum(1)`.

    Or one from which the targets' are picked: `log_softmax(logits).gather(1, targets)`.
    """
    if not re.match(_LOGARITHMS, analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function))):
        return False
    return any(_is_picked(each, function, analysis) for each in (call, *_named(call, function)))


def _named(call: ast.Call, function: Function) -> list[ast.Name]:
    """The uses of the name that a call's result is given, if it is the only thing that goes by it."""
    names = {
        target.id
        for target, binding in bound_targets(function.own_nodes)
        if binding.expr is call and binding.kind == "value" and isinstance(target, ast.Name)
        if len(function.scope.names.get(target.id, ())) == 1
    }
    reads = (each for each in function.own_nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    return [each for each in reads if each.id in names]


def _is_picked(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    for each in analysis.enclosing.around(expr, function):
        match each.node:
            case ast.UnaryOp(op=ast.USub()):
                return True
            case ast.Call(func=func, args=[_, _, *_]) if last_name(func) == "gather":
                return True
    return False


def _is_by_hand(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a call is a step of a loss that is worked out by hand: an operation that autocast runs in float32.

    What it gives goes into what the function differentiates.
    """
    frame = analysis.evaluator.root_frame(function)
    name = last_name(call.func)
    if name not in _BY_HAND:
        return False
    known = analysis.roles.known_name(call.func, frame)
    is_method = isinstance(call.func, ast.Attribute) and not known and last_name(call.func.value) not in _NO_TENSORS
    if not is_method and not known.startswith("torch."):
        return False
    return is_differentiated(call, function, analysis.enclosing)


def _follows(block: ast.AST, node: ast.expr | ast.stmt, function: Function, nesting: EnclosingNodes) -> bool:
    """Whether control can pass from a block to a later node: not from one arm to another, not past a jump."""
    arms = {each.node: each.part for each in nesting.around(node, function)}
    here = block
    for each in nesting.around(block, function):
        siblings = getattr(each.node, each.part, None)
        later = siblings[siblings.index(here) + 1 :] if isinstance(siblings, list) and here in siblings else []
        common = arms.get(each.node)
        if any(isinstance(statement, _LEAVES) and statement.lineno < node.lineno for statement in later):
            return False
        if common is not None:
            return common == each.part or not isinstance(each.node, ast.If | ast.Try | ast.Match)
        here = each.node
    return True


def _trains(function: Function) -> bool:
    """Whether a backward of the loss is in sight: an evaluation only loses digits of the number it prints."""
    return any("backward" in last_name(call.func) or "scale" in last_name(call.func) for call in function.calls)

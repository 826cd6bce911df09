"""The loss is computed outside the region, on the half-precision outputs of the model.

## What it does
Reports a loss, called after a float16 region and outside every other, that gets what a call in that region returned,
where nothing casts it between. What a function of the project makes of outputs and targets is a loss where it is what
goes through `scale` or `backward`. Losses of the project that cast their inputs themselves are left alone, and so are
those of torch in which float32 targets promote the outputs (`mse_loss`, `l1_loss`, `binary_cross_entropy_with_logits`).

## Why is this bad
Inside the region autocast runs losses in float32. Outside it nothing does: logarithms, exponentials and sums run in
float16 and round or overflow, and the gradient of the output is float16, too, so a loss scale of 65536 is inf in it.

## What happens at run time
Silent. Seen on torch 2.13 (CPU): with a mean loss the first step is skipped for inf, and the loss scale can never stay
above 32768. With dtypes of a wide range (bfloat16) only precision is lost; that is not reported.

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
certain. Losses in another function than the region.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

import ast
import re
from collections.abc import Iterable

from verifygate.model import Severity, Witness
from verifygate.naming import (
    names_a_loss,
    names_a_loss_function,
    names_a_whole_model,
    reports_a_loss,
    speaks_of_a_model,
)
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, ExternalName, ExternalResult, Object

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
_CASTS = r"float32|float64|autocast"
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "isin", "isnan", "isfinite", "logical_not", "one_hot"})
_PRODUCTS = frozenset({"mm", "bmm", "matmul", "einsum"})
_LAYERS = r"^torch\.nn\.(Linear|Conv(Transpose)?\dd)$"
_SCALES = r"(?i)temp|tau$|scale|inv_t"
_SAME_DTYPE = frozenset(
    {"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "contiguous", "unfold", "mean"}
)
_RUNS = r"infer|predict|encode|decode|extract|project|logits|features"
"""What methods of a model are called that run it."""
_LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break


def check(analysis: Analysis) -> Iterable[Match]:
    """Outermost active regions, by the variables that they leave behind."""
    found: dict[ast.Call, Match] = {}
    for region in analysis.written_regions.all:
        if region.is_active and region.around is None and region.block is not region.function.node:
            # without `**options`: a region that gets bfloat16 in them is reported, as it is where they are not told
            if analysis.region_dtypes.of(region, reads_options=False) == {Dtype.BFLOAT16}:
                continue
            for call, name in _losses_after(region, analysis):
                text = statement_text(Location(region.function, call))
                found.setdefault(
                    call,
                    Match(
                        Location(region.function, call),
                        f"`{text}` runs outside autocast on `{name}`, which the region leaves in half precision",
                        certain=False,
                        steps=((region.place, "autocast region"),),
                        severity=None if _trains(region.function) else Severity.LOW,
                    ),
                )
    yield from found.values()


def _losses_after(region: WrittenRegion, analysis: Analysis) -> Iterable[tuple[ast.Call, str]]:
    """The losses after a region that get one of its outputs as it is, and the name of the output."""
    names = _outputs(region, analysis)
    if not names:
        return
    function = region.function
    end = getattr(region.block, "end_lineno", None) or 0
    covered = {node for each in analysis.written_regions.by_function[function] for node in each.nodes}
    for node in function.own_nodes:
        if getattr(node, "lineno", 0) <= end or node in covered or not names:
            continue
        if isinstance(node, ast.Assign | ast.For):
            if _follows(region.block, node, function, analysis.enclosing):
                _rename(node, names, function, analysis)
        elif isinstance(node, ast.Call) and (
            _is_loss(node, function, analysis) or _is_written_out(node, function, analysis)
        ):
            given = [name for argument in node.args if (name := _half_in(argument, names))]
            if given and _follows(region.block, node, function, analysis.enclosing):
                yield node, given[0]


def _outputs(region: WrittenRegion, analysis: Analysis) -> set[str]:
    """Variables of the region that a call of some model gives their value, and nothing in it changes after."""
    frame = analysis.evaluator.root_frame(region.function)
    names: set[str] = set()
    for target, binding in bound_targets(region.nodes):
        if not isinstance(target, ast.Name):
            continue
        call = binding.expr.elt if isinstance(binding.expr, ast.ListComp) else binding.expr
        if binding.kind == "value" and call is not None and _taken_from(_reshaped(call)) in names:
            names.add(target.id)
            continue
        names.discard(target.id)
        if binding.kind not in ("value", "item") or not isinstance(call, ast.Call) or names_a_loss(target.id):
            continue
        if names_a_loss_function(last_name(call.func)) or not isinstance(
            call.func, ast.Name | ast.Attribute | ast.Subscript
        ):
            continue
        values = analysis.evaluator.values(call.func, frame)
        if any(isinstance(value, ExternalName) for value in values) or _is_method_of_tensor(call):
            continue
        part = binding.position if binding.kind == "item" else 0
        if any(_casts_itself(value.made, part, analysis) for value in values if isinstance(value, Object)):
            continue
        names.add(target.id)
    return names


def _is_method_of_tensor(call: ast.Call) -> bool:
    """Whether the call is rather a method of a value than a model: only calls of models and their `forward`s count."""
    if not isinstance(call.func, ast.Attribute):
        return False
    runs = re.search(_RUNS, call.func.attr) and names_a_whole_model(last_name(call.func.value))
    return not runs and not speaks_of_a_model(call.func.attr)


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
    return not any(_casts(callee.function.node) for callee in callees)


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
    for each in analysis.enclosing.around(call, function):
        match each.node:
            case ast.UnaryOp(op=ast.USub()):
                return True
            case ast.Call(func=func, args=[_, _, *_]) if last_name(func) == "gather":
                return True
    return False


def _casts_itself(made: Class, part: int, analysis: Analysis) -> bool:
    """Whether a model casts in its forward, and what it gives (`part` of it) is not the output of a layer after all."""
    forward = next(
        (base.methods["forward"] for base in analysis.evaluator.linearised(made) if "forward" in base.methods), None
    )
    if forward is None or not _casts(forward.node):
        return False
    return not forward.returns or not all(_is_of_a_layer(each, part, forward, analysis) for each in forward.returns)


def _is_of_a_layer(given: ast.expr, part: int, function: Function, analysis: Analysis) -> bool:
    """Whether a value is what a layer that multiplies matrices has just made, which is half under autocast."""
    if getattr(function.node, "decorator_list", ()):
        return False
    if isinstance(given, ast.Tuple):
        given = given.elts[part] if part < len(given.elts) else given
    if isinstance(given, ast.Name):
        bindings = function.scope.names.get(given.id, ())
        last = max(bindings, key=lambda each: getattr(each.node, "lineno", 0), default=None)
        if last is None or last.expr is None or last.kind != "value" or last.node not in function.node.body:
            return False
        given = last.expr
    if not isinstance(given, ast.Call):
        return False
    values = analysis.evaluator.values(given.func, analysis.evaluator.root_frame(function))
    return bool(values) and all(isinstance(each, ExternalResult) and re.match(_LAYERS, each.name) for each in values)


def _casts(node: ast.AST) -> bool:
    """Whether a function casts what it is given, or enters a region itself."""
    for each in walk(node):
        if re.search(_CASTS, getattr(each, "id", None) or getattr(each, "attr", None) or ""):
            return True
        match each:
            case ast.Call(func=ast.Attribute(value=cast, attr="float" | "double")) if not _compares(cast):
                return True
    return False


def _compares(expr: ast.expr) -> bool:
    """Whether a value is the outcome of a comparison: the numbers that `.float()` makes of it are no output's."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr not in _COMPARISONS:
        expr = expr.func.value
    return isinstance(expr, ast.Compare) or (isinstance(expr, ast.Call) and last_name(expr.func) in _COMPARISONS)


def _taken_from(expr: ast.expr) -> str:
    """The variable that an argument is, or is a part of: `outputs`, `outputs["logits"]`, `outputs.logits`."""
    while isinstance(expr, ast.Attribute | ast.Subscript | ast.Starred):
        expr = expr.value
    return expr.id if isinstance(expr, ast.Name) else ""


def _reshaped(expr: ast.expr) -> ast.expr:
    """What an expression is a view or a mean of, by a method or a function of torch: of the same dtype."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in _SAME_DTYPE:
        by_function = last_name(expr.func.value) == "torch"
        if by_function and not expr.args:
            break
        expr = expr.args[0] if by_function else expr.func.value
    return expr


def _rename(node: ast.Assign | ast.For, names: set[str], function: Function, analysis: Analysis) -> None:
    """Follow the outputs through what comes after the region: parts, views and products of some are outputs."""
    if isinstance(node, ast.For):
        pairs = _drawn(node.target, node.iter)
    else:
        pairs = [pair for target in node.targets for pair in _assigned(target, node.value)]
    half = [bool(_half_in(value, names)) or _is_made_of(value, names, function, analysis) for _, value in pairs]
    for (part, _), is_half in zip(pairs, half, strict=True):
        if isinstance(part, ast.Name):
            (names.add if is_half else names.discard)(part.id)


def _assigned(target: ast.expr, given: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with what it is given: a part of a tuple written out, or the whole."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    apart = isinstance(given, ast.Tuple) and len(given.elts) == len(parts)
    return list(zip(parts, given.elts if apart else [given] * len(parts), strict=True))  # type: ignore[attr-defined]


def _drawn(target: ast.expr, given: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The variables of a loop, each with what it goes over: `for a, b in zip(ones, others)`."""
    name = last_name(given.func) if isinstance(given, ast.Call) else ""
    match target, given:
        case ast.Tuple(elts=[_, part]), ast.Call(args=[over, *_]) if name == "enumerate":
            return _drawn(part, over)
        case ast.Tuple(elts=parts), ast.Call(args=args) if name == "zip":
            return list(zip(parts, args, strict=False))
        case ast.Tuple(elts=parts), _:
            return [(part, given) for part in parts]
    return [(target, given)]


def _half_in(expr: ast.expr, names: set[str]) -> str:
    """The output that makes a value half: a part or a view of one, a product of matrices, a difference of two."""
    expr = _reshaped(expr)
    match expr:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):  # torch multiplies matrices of one dtype only
            return _half_in(left, names) or _half_in(right, names)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            one, other = (right, left) if _is_scale(left) else (left, right)
            return _half_in(one, names) if _is_scale(other) else ""
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):  # a float32 on one side makes it float32
            return _half_in(left, names) if _half_in(right, names) else ""
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=args) if name in _PRODUCTS:
            return next(filter(None, (_half_in(each, names) for each in (receiver, *args))), "")
        case ast.Call(func=ast.Attribute(value=turned, attr="t"), args=[]):
            return _half_in(turned, names)
        case ast.Attribute(value=turned, attr="T" | "mT"):
            return _half_in(turned, names)
    name = _taken_from(expr)
    return name if name in names else ""


def _is_scale(expr: ast.expr) -> bool:
    """Whether something is a number, or goes by the name of one: it leaves the dtype of what it scales."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and not expr.args:
        expr = expr.func.value
    return isinstance(expr, ast.Constant) or bool(re.search(_SCALES, last_name(expr)))


def _is_made_of(expr: ast.expr, names: set[str], function: Function, analysis: Analysis) -> bool:
    """Whether a function of the project multiplies an output it is given, and casts nothing, or a record holds it."""
    if not isinstance(expr, ast.Call) or not names & {
        each.id
        for given in (*expr.args, *(word.value for word in expr.keywords))
        if isinstance(each := _reshaped(given), ast.Name)
    }:
        return False
    frame = analysis.evaluator.root_frame(function)
    if any(word.arg is None for word in expr.keywords):
        return any(isinstance(value, ClassValue) for value in analysis.evaluator.values(expr.func, frame))
    callees = [callee.function.node for callee in analysis.evaluator.callees(expr, frame)]
    return any(_multiplies(callee) and not _casts(callee) for callee in callees)


def _multiplies(node: ast.AST) -> bool:
    """Whether a function returns something, and multiplies matrices for it."""
    nodes = tuple(walk(node))
    products = (isinstance(each, ast.MatMult) or getattr(each, "attr", "") in _PRODUCTS for each in nodes)
    return any(isinstance(each, ast.Return) for each in nodes) and any(products)


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

"""A guard against zero is itself zero in half precision.

## What it does
Reports an epsilon below the smallest float16 that is added to a half tensor, or clamps one from below, inside a float16
region, where the result goes into a logarithm, a division or a root. And an upper bound so close to 1 that it is 1 in
float16, as in `clamp(chances, 1e-4, 1 - 1e-4)`, where one minus the result goes there, or a sigmoid is kept from both.

Also the eps of an Adam or the like (1e-8 if none is given) over float16 parameters, unless a scaler steps them, which
raises, or the optimizer is told `fused`: where the gradient is zero, it divides zero by zero. A run in which weights
become NaN by it shows the same, with high severity.

## Impact
The guard is zero in float16, so that a logarithm or a division gives inf and the gradients are NaN.

## Why is this bad
`1e-8` is zero in float16, so the guard guards nothing: the logarithm of a sigmoid that has underflowed is -inf, a
division by it inf, and the gradients are NaN. In float32 the same line is right. Below 1 the steps of float16 are
wide: whatever is nearer to 1 than 0.00024 is 1, and one minus it is zero.

## What happens at run time
Silent. The smallest float16 is 6e-8, and what is not above half of it rounds to zero (seen on 2.13, CPU). The largest
below 1 is 0.99951; a bound of `1 - 1e-4` is 1 on the CPU and on CUDA.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            chances = torch.sigmoid(outputs @ outputs.t() - 30)
            loss = loss_fn(outputs, targets) - torch.log(chances + 1e-8).mean()
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
            logits = outputs @ outputs.t() - 30
            loss = loss_fn(outputs, targets) - torch.nn.functional.logsigmoid(logits.float()).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: `.float()` before the sum, a larger epsilon and a stable function are three different answers.

## What it cannot see
Tensors whose dtype the caller decides, except for sigmoids, also those passed to a helper; configured epsilons.
Sums, norms, powers, softmax and exp are float32 under CUDA autocast, and are not reported; on the CPU they stay half.

## References
- https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

import ast
import math
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import FLOAT16_UNDERFLOW, Dtype
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.facts.tensor_dtypes import UNKNOWN_SIGMOIDS
from verifygate.static.idioms.half_weights import half_optimizers, optimizer_calls, refused_by_a_framework
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalName

RULE = Rule(
    code="AMP402",
    name="epsilon-underflow",
    severity=Severity.MEDIUM,
    summary="an epsilon that is zero in float16 guards a logarithm or a division",
    remedy="compute it in float32 (`.float()`), or use an epsilon above 6e-8",
    words=("autocast",),
    beside=(
        r"e-(?<=\de-)(?:0?[89]|[1-9]\d)|clamp[^\n]{0,60}\b1(?:\.0*)? ?- ?",
        r"log(?:2|10|_)?\(|sqrt|reciprocal|clamp|/ *\(",
    ),
    proof="update-norm",
    witnesses=(Witness.STATIC, Witness.RUN),
)

_DEFAULT_EPSILONS = {"Adam": 1e-8, "AdamW": 1e-8, "NAdam": 1e-8, "RAdam": 1e-8, "RMSprop": 1e-8, "Adagrad": 1e-10}
"""Optimizer that divides by a root of a running mean of squares -> what it adds to that."""
_CLAMPS = frozenset({"clamp", "clamp_", "clamp_min", "clamp_min_", "clamp_max", "clamp_max_", "clip", "clip_"})
_STEP_BELOW_ONE = 2**-11
_LOG1P = frozenset({"log1p", "log1p_"})
_SENSITIVE = frozenset({"log", "log2", "log10", "log_", "sqrt", "rsqrt", "reciprocal"})


def looks_beside(analysis: Analysis) -> bool:
    """Whether some region may be in float16."""
    return analysis.may_be_float16


def check(analysis: Analysis) -> Iterable[Match]:
    """Every epsilon on a half tensor that a float16 region covers, and of an optimizer over float16 parameters."""
    yield from _of_optimizers(analysis)
    if not looks_beside(analysis):
        return
    for node, function in (*analysis.of_kind(ast.BinOp), *analysis.calls):
        for subject, what in _guarded(node, function, analysis):
            sure = analysis.tensor_dtypes.is_half(subject, analysis.evaluator.root_frame(function))
            if not sure and not _may_be_half(subject, function, analysis):
                continue
            cover = analysis.region_coverage.cover(node, function)
            # on whatever device: the epsilon underflows as soon as it is CUDA
            dtypes = analysis.region_dtypes.of(cover.region, AssumedDevice.CUDA_IF_POSSIBLE) if cover else frozenset()
            if cover is None or Dtype.FLOAT16 not in dtypes:
                continue
            place = Location(function, node)
            yield Match(
                place,
                f"`{statement_text(place)}`: the {what} in float16",
                certain=sure and cover.certain and dtypes == {Dtype.FLOAT16},
                steps=((cover.region.place, "the region"), (place, what.partition(" is ")[0])),
            )


def _of_optimizers(analysis: Analysis) -> Iterator[Match]:
    """Optimizers whose epsilon is zero in the dtype of the parameters; where a scaler steps them, it raises instead."""
    scaled = {
        call
        for step in analysis.scaler_calls
        if step.method == "step" and step.optimizer is not None
        for value in analysis.evaluator.values(step.optimizer, step.frame)
        for call, _ in optimizer_calls(value)
    }
    scaled |= {place.node for _, place, _ in refused_by_a_framework(analysis)}  # type: ignore[misc]
    for each in half_optimizers(analysis):
        options = each.options
        if each.name not in _DEFAULT_EPSILONS or each.call in scaled or options.keys() & {None, "fused"}:
            continue
        frame = analysis.evaluator.root_frame(each.function)
        written = options.get("eps")
        number = analysis.constants.number(written, frame) if written else _DEFAULT_EPSILONS[each.name]
        if number is not None and 0 < number <= FLOAT16_UNDERFLOW:
            yield Match(
                each.place,
                f"the eps of {each.name}, {number:g}, is zero in float16, the dtype of the parameters",
                certain=False,
                steps=((each.way.cast, "the parameters are made half"), (each.place, "the optimizer")),
                remedy="keep the parameters in float32, or use an eps above 6e-8",
            )


def _guarded(node: ast.AST, function: Function, analysis: Analysis) -> Iterator[tuple[ast.expr, str]]:
    """The tensor that an epsilon is to keep from zero, or an upper bound from one, where it matters; and what fails."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for tensor, number in ((left, right), (right, left)):
                if _is_tiny(number, function, analysis) and _matters(node, function, analysis):
                    yield tensor, "epsilon is zero"
                    return
        case ast.Call(func=ast.Attribute() as func) if func.attr in _CLAMPS:
            subject, lower, upper = _clamped(node, func, function, analysis)
            if _is_tiny(lower, function, analysis) and _matters(node, function, analysis):
                yield subject, "epsilon is zero"
            elif _is_one(upper, function, analysis) and (
                _is_subtracted(node, function, analysis)
                or _is_kept_from_both(subject, lower, upper, function, analysis)
            ):
                yield subject, "upper bound is 1"


def _clamped(
    call: ast.Call, func: ast.Attribute, function: Function, analysis: Analysis
) -> tuple[ast.expr, ast.expr | None, ast.expr | None]:
    """What a clamp is called on, and its bounds; of `torch.clamp` the tensor is the first argument."""
    values = analysis.evaluator.values(func, analysis.evaluator.root_frame(function))
    is_function = bool(call.args) and any(isinstance(value, ExternalName) for value in values)
    subject, bounds = (call.args[0], call.args[1:]) if is_function else (func.value, call.args)
    named = {word.arg: word.value for word in call.keywords}
    lower, upper = (*bounds, None, None)[:2]
    if func.attr.startswith("clamp_max"):
        lower, upper = None, lower
    return subject, lower or named.get("min"), upper or named.get("max")


def _may_be_half(subject: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether a sigmoid may make the tensor half, in the function itself or in what its calls hand it."""
    frame = analysis.evaluator.root_frame(function)
    if analysis.tensor_dtypes.is_half(subject, frame, UNKNOWN_SIGMOIDS):
        return True
    names = {each.id for each in walk(subject) if isinstance(each, ast.Name)}
    if not names & {*function.scope.names}:
        return False
    entries = (entered for _, entered in analysis.call_graph.entries(function))
    return any(analysis.tensor_dtypes.is_half(subject, entered, UNKNOWN_SIGMOIDS) for entered in entries)


def _is_parameter(name: ast.Name, function: Function) -> bool:
    """Whether a name is a parameter of the function, and nothing binds it anew."""
    return name.id in {each.arg for each in function.parameters} and len(function.scope.names[name.id]) == 1


def _is_tiny(expr: ast.expr | None, function: Function, analysis: Analysis) -> bool:
    number = _number(expr, function, analysis)
    return number is not None and 0 < number <= FLOAT16_UNDERFLOW


def _is_one(expr: ast.expr | None, function: Function, analysis: Analysis) -> bool:
    """Whether a number just below 1 is 1 in float16."""
    number = _number(expr, function, analysis)
    return number is not None and 0 < 1 - number <= _STEP_BELOW_ONE / 2


def _number(expr: ast.expr | None, function: Function, analysis: Analysis) -> float | None:
    """A number that the source says; of a parameter its default, which is there for the calls that leave it out."""
    frame = analysis.evaluator.root_frame(function)
    number = analysis.constants.number(expr, frame)
    if number is None and isinstance(expr, ast.Name) and _is_parameter(expr, function):
        number = analysis.constants.number(function.default(expr.id), frame)
    if number is None and isinstance(expr, ast.Attribute):
        number = _kept(expr, function, analysis)
    if number is None and isinstance(expr, ast.Call | ast.Name):
        number = _left_out(expr, function, analysis)
    if number is None and isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Sub):
        left, right = (_number(side, function, analysis) for side in (expr.left, expr.right))
        number = None if left is None or right is None else left - right
    return number


def _left_out(expr: ast.Call | ast.Name, function: Function, analysis: Analysis) -> float | None:
    """The number of `settings.get("eps", 1e-12)`, which is there where nothing is set, also by its only name."""
    match expr:
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str()), default], keywords=[]):
            return _number(default, function, analysis) if isinstance(default, ast.Constant) else None
        case ast.Name():
            bindings = function.scope.names.get(expr.id, ())
            if len(bindings) == 1 and bindings[0].kind == "value" and isinstance(bindings[0].expr, ast.Call):
                return _left_out(bindings[0].expr, function, analysis)
    return None


def _kept(expr: ast.Attribute, function: Function, analysis: Analysis) -> float | None:
    """The number of `self.eps`, where `__init__` keeps a parameter so that calls leave to its default."""
    owner = function.owner
    bindings = owner.attributes.get(expr.attr, []) if owner is not None and last_name(expr.value) == "self" else []
    if len(bindings) != 1:
        return None
    binding, method = bindings[0]
    if method is None or not isinstance(binding.expr, ast.Name) or not _is_parameter(binding.expr, method):
        return None
    entries = list(analysis.call_graph.entries(method))
    if entries and all(binding.expr.id in entered.arguments for _, entered in entries):
        return None
    return _number(binding.expr, method, analysis)


def _is_kept_from_both(
    subject: ast.expr, lower: ast.expr | None, upper: ast.expr | None, function: Function, analysis: Analysis
) -> bool:
    """Whether a sigmoid is kept as far from zero as from one, for two logarithms, and returned to who takes them."""
    low, high = (_number(each, function, analysis) for each in (lower, upper))
    if low is None or high is None or not math.isclose(low, 1 - high, rel_tol=1e-3):
        return False
    return any(isinstance(each, ast.Call) and last_name(each.func) in ("sigmoid", "sigmoid_") for each in walk(subject))


def _is_subtracted(node: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether one minus the result goes into a logarithm, a root, or below a fraction line, by the name it is given."""
    outer = analysis.enclosing.parent(node, function)
    names = {each.id for each in getattr(outer, "targets", ()) if isinstance(each, ast.Name)}
    return any(
        isinstance(each, ast.BinOp)
        and isinstance(each.op, ast.Sub)
        and _number(each.left, function, analysis) == 1
        and (each.right is node or (isinstance(each.right, ast.Name) and each.right.id in names))
        and _matters(each, function, analysis)
        for each in function.own_nodes
    ) or any(_is_negated_in_log1p(each, node, names) for each in function.calls)


def _is_negated_in_log1p(call: ast.Call, node: ast.Call, names: set[str]) -> bool:
    """Whether a call is `log1p(-p)` of the clamped tensor or of a name that it is given, or `(-p).log1p()`."""
    given = [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else ())]
    return last_name(call.func) in _LOG1P and any(
        isinstance(each, ast.UnaryOp)
        and isinstance(each.op, ast.USub)
        and (each.operand is node or (isinstance(each.operand, ast.Name) and each.operand.id in names))
        for each in given
    )


def _matters(node: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether the result goes into a logarithm, a root, or below a fraction line, also by the name that it is given."""
    chain = list(_chain(node, function, analysis))
    if any(_is_sensitive(inner, outer) for inner, outer in chain):
        return True
    last = chain[-1][1] if chain else None  # nothing is around what runs where a class is defined
    names = {each.id for each in getattr(last, "targets", ()) if isinstance(each, ast.Name)}
    return any(
        isinstance(each, ast.Name)
        and each.id in names
        and any(binding.node is last for binding in reaching(each.id, each, function) or ())
        and any(_is_sensitive(inner, outer) for inner, outer in _chain(each, function, analysis))
        for each in (function.own_nodes if names else ())
    )


def _chain(node: ast.AST, function: Function, analysis: Analysis) -> Iterator[tuple[ast.AST, ast.AST]]:
    inner = node
    for each in analysis.enclosing.around(node, function):
        yield inner, each.node
        if isinstance(each.node, ast.stmt | ast.BinOp):
            return
        inner = each.node


def _is_sensitive(inner: ast.AST, outer: ast.AST) -> bool:
    match outer:
        case ast.BinOp(op=ast.Div()):
            return outer.right is inner
        case ast.Attribute():
            return outer.attr in _SENSITIVE
        case ast.Call():
            return inner in outer.args and last_name(outer.func) in _SENSITIVE
    return False

"""A guard against zero is itself zero in half precision.

## What it does
Reports an epsilon below the smallest float16 that is added to a half tensor, or clamps one from below, inside a float16
region, where the result goes into a logarithm, a division or a root.

## Why is this bad
`1e-8` is zero in float16, so the guard guards nothing: the logarithm of a sigmoid that has underflowed is -inf, a
division by it inf, and the gradients are NaN. In float32 the same line is right.

## What happens at run time
Silent. The smallest float16 is 6e-8, and what is not above half of it rounds to zero (seen on 2.13, CPU).

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
Tensors whose dtype the caller decides, but for sigmoids, also those handed to a helper; epsilons from configurations.
Sums, norms, powers, softmax and exp are float32 under CUDA autocast, and are not reported; on the CPU they stay half.

## References
- https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.halves import SMALLEST
from verifygate.static.precision import Dtype
from verifygate.static.program import Function
from verifygate.static.roles import last_name
from verifygate.static.rule import Match, Rule, statement_text

RULE = Rule(
    code="AMP402",
    name="epsilon-underflow",
    severity=Severity.MEDIUM,
    summary="an epsilon that is zero in float16 guards a logarithm or a division",
    remedy="compute it in float32 (`.float()`), or use an epsilon above 6e-8",
    words=("autocast",),
    beside=(r"e-(?<=\de-)(?:0?[89]|[1-9]\d)", r"log(?:2|10|_)?\(|sqrt|reciprocal|clamp|/ *\("),
    proof="update-norm",
)

_SENSITIVE = frozenset({"log", "log2", "log10", "log_", "sqrt", "rsqrt", "reciprocal"})


def looks_beside(analysis: Analysis) -> bool:
    """Whether some region may be in float16."""
    return analysis.precision.may_be(Dtype.FLOAT16)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every epsilon on a half tensor that a float16 region covers."""
    if not looks_beside(analysis):
        return
    for node, function in (*analysis.of_kind(ast.BinOp), *analysis.calls):
        subject = _guarded(node, function, analysis)
        if subject is None or not _matters(node, function, analysis):
            continue
        sure = analysis.halves.is_half(subject, function)
        if not sure and not any(
            analysis.halves.is_half(each, home, squashed=True) for each, home in _meant(subject, function, analysis)
        ):
            continue
        cover = analysis.covered.cover(node, function)
        dtypes = analysis.precision.of_region(cover.region) if cover else frozenset()
        if cover is None or Dtype.FLOAT16 not in dtypes:
            continue
        place = Place(function, node)
        yield Match(
            place,
            f"`{statement_text(place)}`: the epsilon is zero in float16",
            certain=sure and cover.certain and dtypes == {Dtype.FLOAT16},
            steps=((cover.region.place, "the region"), (place, "the epsilon")),
        )


def _guarded(node: ast.AST, function: Function, analysis: Analysis) -> ast.expr | None:
    """The tensor to which an epsilon is added, or which one clamps from below."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            if _is_tiny(right, function, analysis):
                return left
            return right if _is_tiny(left, function, analysis) else None
        case ast.Call(func=ast.Attribute(value=subject, attr="clamp" | "clamp_" | "clamp_min")):
            lower = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "min")]
            return subject if any(_is_tiny(each, function, analysis) for each in lower) else None
    return None


def _meant(subject: ast.expr, function: Function, analysis: Analysis) -> Iterator[tuple[ast.expr, Function]]:
    """The tensor, and for a parameter that nothing binds anew what the calls of its function pass."""
    yield subject, function
    if not isinstance(subject, ast.Name) or not _is_parameter(subject, function):
        return
    for site in analysis.callers.sites(function):
        home = analysis.evaluator.root_frame(site.caller)
        for callee in analysis.evaluator.callees(site.call, home):
            entered = analysis.evaluator.enter(callee, site.call, home) if callee.function is function else None
            given = entered.arguments.get(subject.id) if entered is not None else None
            if given is not None and given.frame is home:
                yield given.expr, site.caller


def _is_parameter(name: ast.Name, function: Function) -> bool:
    """Whether a name is a parameter of the function, and nothing binds it anew."""
    return name.id in {each.arg for each in function.parameters} and len(function.scope.names[name.id]) == 1


def _is_tiny(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    frame = analysis.evaluator.root_frame(function)
    number = analysis.halves.number(expr, frame)
    if number is None and isinstance(expr, ast.Name) and _is_parameter(expr, function):
        number = analysis.halves.number(function.default(expr.id), frame)  # it is there for the calls that leave it out
    return number is not None and 0 < number <= SMALLEST


def _matters(node: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether the result goes into a logarithm, a root, or below a fraction line."""
    return any(_is_sensitive(inner, outer) for inner, outer in _chain(node, function, analysis))


def _chain(node: ast.AST, function: Function, analysis: Analysis) -> Iterator[tuple[ast.AST, ast.AST]]:
    inner = node
    for each in analysis.nesting.around(node, function):
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

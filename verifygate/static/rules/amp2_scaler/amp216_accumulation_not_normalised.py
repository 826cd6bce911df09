"""Losses are accumulated over several micro-batches and not divided by their number.

## What it does
Reports

- a scaled backward in every iteration of a loop that steps every N iterations, or after its `range(N)`, if nothing
  divides by N and no loss is divided at all;
- a scaled backward of a loss that only the other branch, the one without a scaler, divides;
- a step at the first batch of a window, `i % N == 0` where `i` counts from 0: the first window then has one batch, or
  N + 1 with `i != 0`, and is divided by N as well.

The finding is always likely: a loss that is a sum needs no division.

## Impact
The gradients, and with SGD the learning rate, are as many times too large as there are micro-batches in a window.

## Why is this bad
The gradients of N means add up to N times the mean: the effective learning rate grows with the window, clipping bites
N times harder, and float16 gradients overflow sooner. Changing the window changes the training.

## What happens at run time
Silent (torch 2.13): after one window plain SGD has moved N times as far (Adam hides it, as it normalises).

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if number % 2 == 0 or number == len(batches):
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0 or number == len(batches):
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Fix safety
No automatic fix: dividing changes the effective learning rate, which may have been tuned around it.

## What it cannot see
Windows that are not written with a remainder (`%`), a counter that is reset, or a `range`, next to the backward or to
the call of its function. A last window that is shorter than the others.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.naming import names_a_loss
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis, memoised
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Bound, Frame

RULE = Rule(
    code="AMP216",
    name="accumulation-not-normalised",
    severity=Severity.LOW,
    summary="accumulated losses are not divided by the window",
    remedy="divide the loss by the number of micro-batches before `scaler.scale(loss).backward()`",
    words=("GradScaler", "unscale_", "scaler"),
    proof="final-weights",
)

_SHARES = r"(?i)mean|average|normali[sz]|weight|/|accum\w*\("
_SHARES_PARTS = r"(?i)normali[sz]|weight|/|accum\w*\("
"""The same for the parts of a batch: the mean over one part is not yet its share."""
_LossCall = tuple[ast.Call, Function, Frame]
"""A call that leads to a backward, the function it stands in, and the frame in which `scale` is called."""


def check(analysis: Analysis) -> Iterator[Match]:
    """Each place once, however many optimizers step at the end of one window."""
    told: set[tuple[ast.AST, str]] = set()
    for match in _found(analysis):
        what = match.place.node, match.message
        if what not in told:
            told.add(what)
            yield match


def _found(analysis: Analysis) -> Iterator[Match]:
    """Backwards of each iteration in loops that step every few, and branches that divide what the other does not."""
    for step in analysis.scaler_calls:
        window = _window(step, analysis) if step.method == "step" else None
        loops = analysis.enclosing.loops(step.call, step.function)
        if step.method == "step" and not loops and step.function.symbol:
            yield from _in_a_function(step, window, analysis)
        if window is None or not loops or _divides(loops[0], window):
            continue
        for scale in _scales_in(step.function, analysis):
            beside = analysis.enclosing.loops(scale.call, scale.function) == loops
            if not beside or _is_stepped_in_every_turn(scale, analysis):
                continue
            if _is_every_turn(scale, window, analysis) and not _is_shared_out(scale, window, analysis, _SHARES_PARTS):
                text = statement_text(scale.place)
                yield Match(scale.place, f"`{text}` adds up losses that nothing divides by `{window}`", certain=False)
    for scale in (call for call in analysis.scaler_calls if call.method == "scale" and call.call.args):
        yield from _split(scale, analysis)
        yield from _undivided_twin(scale, analysis)
    for step in analysis.scaler_calls:
        own = _scales_in(step.function, analysis)
        if step.method == "step" and any(not analysis.enclosing.conditions(each.call, each.function) for each in own):
            yield from _shifted(step, own, analysis)


def _scales_in(function: Function, analysis: Analysis) -> list[ScalerCall]:
    """The calls of `scale` in a function."""
    calls = analysis.scaler_calls_in.get(function, ())
    return [call for call in calls if call.method == "scale" and call.call.args]


def _in_a_function(step: ScalerCall, window: str | None, analysis: Analysis) -> Iterator[Match]:
    """A function without a loop that scales each time and steps every few times, by its own count or its caller's."""
    asked = {
        node.id
        for test, _ in analysis.enclosing.conditions(step.call, step.function)
        for node in walk(test)
        if isinstance(node, ast.Name)
    }
    for scale in _scales_in(step.function, analysis):
        if not _goes_with(scale, step, analysis):
            continue
        for call, caller, frame in _leading_to(scale, analysis):
            loops = analysis.enclosing.loops(call, caller)
            length = window
            if length is None and asked & frame.arguments.keys():
                length = next((found for name in asked if (found := _remainder(frame.arguments.get(name)))), None)
            if length is None or not loops or caller is step.function or _divides(loops[-1], length):
                continue
            if not _divides(step.function.node, length) and not _is_shared_out(scale, length, analysis):
                place = scale.place if window is not None else Location(caller, call)
                message = f"`{statement_text(place)}` adds up losses that nothing divides by `{length}`"
                yield Match(place, message, certain=False)
                return


def _goes_with(scale: ScalerCall, step: ScalerCall, analysis: Analysis) -> bool:
    """Whether only such conditions decide on the backward as decide on the step, too, and none that counts."""
    around = {id(test) for test, _ in analysis.enclosing.conditions(step.call, step.function)}
    own = analysis.enclosing.conditions(scale.call, scale.function)
    return all(id(test) in around and not any(_is_remainder(node) for node in walk(test)) for test, _ in own)


def _remainder(bound: Bound | None) -> str | None:
    """The N of an argument `i % N == 0`."""
    found = walk(bound.expr) if bound is not None else ()
    return next((ast.unparse(each.right) for each in found if _is_remainder(each)), None)  # type: ignore[attr-defined]


def _is_remainder(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _split(scale: ScalerCall, analysis: Analysis) -> Iterator[Match]:
    """A batch in parts: a backward in each iteration of `for _ in range(N)` or for each chunk, then the step."""
    loops = analysis.enclosing.loops(scale.call, scale.function)
    loop = loops[0] if loops and isinstance(loops[0], ast.For) else None
    window = _parts_of(loop.iter) if loop is not None else ""
    if loop is None or not window:
        return
    after = [
        call
        for call in analysis.scaler_calls_in[scale.function]
        if call.method == "step"
        and call.call.lineno > (loop.end_lineno or 0)
        and analysis.enclosing.loops(call.call, call.function) == loops[1:]
    ]
    zeroes = any(last_name(node.func) == "zero_grad" for node in walk(loop) if isinstance(node, ast.Call))
    shared = _divides(loop, window) or _is_shared_out(scale, window, analysis, _SHARES_PARTS)
    if (after or _steps_beside(scale, analysis)) and not zeroes and not shared:
        message = f"`{statement_text(scale.place)}` adds up the losses of `{window}` parts that nothing divides by it"
        yield Match(scale.place, message, certain=False)


def _steps_beside(scale: ScalerCall, analysis: Analysis) -> bool:
    """Whether a function of the project that steps by a scaler is called beside a loop, and not in its iterations."""
    stepping = set(_stepping(analysis)) - {scale.function}
    around = analysis.enclosing.loops(scale.call, scale.function)[1:]
    return any(
        analysis.enclosing.loops(call, scale.function) == around
        and not stepping.isdisjoint(analysis.call_graph.callees(call, scale.function))
        for call in scale.function.calls
    )


@memoised
def _stepping(analysis: Analysis) -> Iterator[Function]:
    """The functions in which a scaler steps."""
    return (call.function for call in analysis.scaler_calls if call.method == "step")


def _parts_of(iterated: ast.expr) -> str:
    """The N of `range(N)`, `batch.chunk(N)` or `zip(inputs.chunk(N), targets.chunk(N))`; empty for anything else."""
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            return ast.unparse(count)
        case ast.Call(func=ast.Attribute(attr="chunk", value=ast.Name(id="torch")), args=[_, count, *_]):
            return ast.unparse(count)
        case ast.Call(func=ast.Attribute(attr="chunk"), args=[count, *_]):
            return ast.unparse(count)
        case ast.Call(func=ast.Name(id="zip" | "enumerate"), args=[first, *_]):
            return _parts_of(first)
    return ""


def _shifted(step: ScalerCall, scales: list[ScalerCall], analysis: Analysis) -> Iterator[Match]:
    """A step where the number of the batch, counted from 0, is a multiple of N: at the first batch of a window.

    One with a backward behind the same condition accumulates nothing: a generator trained every N batches.
    """
    behind = {id(test) for each in scales for test, _ in analysis.enclosing.conditions(each.call, each.function)}
    loops = analysis.enclosing.loops(step.call, step.function)
    counters = {_counter(loop) for loop in loops if isinstance(loop, ast.For)} - {""}
    for test, holds in analysis.enclosing.conditions(step.call, step.function):
        for node in walk(test) if holds and id(test) not in behind else ():
            match node:
                case ast.Compare(
                    left=ast.BinOp(left=ast.Name(id=name), op=ast.Mod()),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value=0)],
                ) if name in counters:
                    place = Location(step.function, node)
                    text = statement_text(place)
                    message = f"`{text}` holds at the first batch of a window, not at its last: the first one is odd"
                    asked = text.replace(name, f"({name} + 1)", 1)
                    yield Match(place, message, certain=False, remedy=f"ask for `{asked}`")


def _counter(loop: ast.For) -> str:
    """The variable by which `enumerate` counts the iterations of a loop from 0."""
    for node in walk(loop.iter):
        if not isinstance(node, ast.Call) or last_name(node.func) != "enumerate":
            continue
        if len(node.args) == 1 and not node.keywords:
            target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
            return target.id if isinstance(target, ast.Name) else ""
    return ""


def _window(step: ScalerCall, analysis: Analysis) -> str | None:
    """The N of `if (i + 1) % N == 0` around the step, or of `if i == N` where `i` begins anew with each step."""
    for test, holds in analysis.enclosing.conditions(step.call, step.function):
        for node in walk(test) if holds else ():
            if _is_remainder(node):
                return ast.unparse(node.right)  # type: ignore[attr-defined]
            match node:
                case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.GtE()], comparators=[length]):
                    if _begins_anew(name, step, analysis):
                        return ast.unparse(length)
    return None


def _begins_anew(name: str, step: ScalerCall, analysis: Analysis) -> bool:
    """Whether a count goes on by one in the loop of the step, and is set to 0 there."""
    loops = analysis.enclosing.loops(step.call, step.function)
    inside = set(walk(loops[0])) if loops else set()
    bound = [each for each in step.function.scope.names.get(name, ()) if each.node in inside]
    zeroed = any(isinstance(each.expr, ast.Constant) and each.expr.value == 0 for each in bound)
    return zeroed and any(each.kind == "changed" for each in bound)


def _is_every_turn(scale: ScalerCall, window: str, analysis: Analysis) -> bool:
    conditions = analysis.enclosing.conditions(scale.call, scale.function)
    return not any("%" in ast.unparse(test) or window in ast.unparse(test) for test, _ in conditions)


def _is_stepped_in_every_turn(scale: ScalerCall, analysis: Analysis) -> bool:
    """Whether the first step behind a backward comes in every iteration: the window is that of another optimizer."""
    loops = analysis.enclosing.loops(scale.call, scale.function)
    behind = [
        call for call in analysis.scaler_calls_in[scale.function] if call.method == "step" and _at(call) > _at(scale)
    ]
    first = min(behind, key=_at, default=None)
    if first is None or analysis.enclosing.loops(first.call, first.function) != loops:
        return False
    return _goes_with(first, scale, analysis)


def _at(call: ScalerCall) -> tuple[int, int]:
    return call.call.lineno, call.call.col_offset


def _is_shared_out(scale: ScalerCall, window: str, analysis: Analysis, shares: str = _SHARES) -> bool:
    """Whether the loss looks as if it was divided, or weighted, where it stands, is bound, or is computed.

    Where only a word says so, the analysis says that it cannot tell.
    """
    exprs = [scale.call.args[0], *_bound(scale)]
    if any(_divides_by(node) for expr in exprs for node in walk(expr)):
        return True
    if worded := next((text for expr in exprs if re.search(shares, text := ast.unparse(expr))), ""):
        analysis.gave_up(scale.place, f"whether `{worded}` is a share of the losses of a window", RULE.code)
        return True
    calls = [node for expr in exprs for node in walk(expr) if isinstance(node, ast.Call)]
    makers = [callee.function for call in calls for callee in analysis.evaluator.callees(call, scale.frame)]
    return any(
        _divides(maker.node, window)
        for maker in makers
        if maker.owner is None or maker.name not in ("__init__", "forward")
    )


def _bound(scale: ScalerCall) -> list[ast.expr]:
    """What the names in a loss are bound to, and the factors of that: `share = len(part) / len(batch)`."""
    found = _given(scale, walk(scale.call))
    products = [expr for expr in found if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult)]
    return found + _given(scale, (factor for each in products for factor in (each.left, each.right)))


def _given(scale: ScalerCall, exprs: Iterable[ast.AST]) -> list[ast.expr]:
    """What is bound to those of some expressions that are names."""
    names = {node.id for node in exprs if isinstance(node, ast.Name)}
    bindings = (binding for name in names for binding in scale.function.scope.names.get(name, ()))
    return [binding.expr for binding in bindings if binding.expr is not None]


def _divides(block: ast.AST, window: str) -> bool:
    """Whether anything in a loop or a function is divided by the window, or a loss by anything."""
    for node in walk(block):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
            return True
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)) or _is_average_of_a_log(node):
            continue
        if ast.unparse(node.right) == window or names_a_loss(ast.unparse(node.left)):
            return True
    return False


def _is_average_of_a_log(node: ast.BinOp) -> bool:
    """`sum(losses) / len(losses)`: of what was kept of many iterations."""
    match node:
        case ast.BinOp(left=ast.Call(func=ast.Name(id="sum"), args=[kept]), right=ast.Call(func=ast.Name(id="len"))):
            return isinstance(kept, ast.Name | ast.Attribute)
    return False


# -- arms that divide, and arms that do not ------------------------------------------------------------------------


def _undivided_twin(scale: ScalerCall, analysis: Analysis) -> Iterator[Match]:
    """`scale(total).backward()`, and in the other arm of a condition the backward of what `total / N` was given to."""
    own = scale.call.args[0]
    if any(_divides_by(node) for expr in (own, *_bound(scale)) for node in walk(expr)):
        return
    for call, function, frame in _leading_to(scale, analysis):
        loss = analysis.roles.path(own, frame)
        for plain in _plain_backwards(function):
            if analysis.path_conditions.agree(Location(function, call), Location(function, plain)):
                continue
            divided = _divided_by(plain, call, loss, function, analysis)
            if divided is not None:
                message = f"`{statement_text(scale.place)}` takes a loss that only the arm without a scaler divides"
                places = (Location(function, divided), "divided"), (Location(function, plain), "without a scaler")
                yield Match(scale.place, message, certain=False, steps=(*places, (scale.place, "with a scaler")))
                return


def _leading_to(scale: ScalerCall, analysis: Analysis) -> Iterator[_LossCall]:
    """The call of `scale` itself, and the calls of the function it stands in."""
    yield scale.call, scale.function, scale.frame
    for site, frame in analysis.call_graph.entries(scale.function):
        yield site.call, site.caller, frame


def _plain_backwards(function: Function) -> Iterator[ast.Call]:
    for call in function.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "backward" and isinstance(func.value, ast.Name):
            yield call


def _divided_by(
    plain: ast.Call, scaled: ast.Call, loss: AccessPath, function: Function, analysis: Analysis
) -> ast.AST | None:
    """The statement that divides what the plain backward is called on, where the scaled one goes without it."""
    name = plain.func.value  # type: ignore[attr-defined]
    frame = analysis.evaluator.root_frame(function)
    own = analysis.roles.path(name, frame)
    bindings = function.scope.names.get(name.id, [])
    origins = {
        analysis.roles.path(node, frame)
        for binding in bindings
        if binding.expr is not None
        for node in walk(binding.expr)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    }
    divisions = [each.node for each in bindings if _is_division(each.node) and each.node.lineno < plain.lineno]  # type: ignore[attr-defined]
    if not divisions or loss not in origins | {own}:
        return None
    if loss == own and any(
        analysis.path_conditions.agree(Location(function, node), Location(function, scaled)) for node in divisions
    ):
        return None
    others = (node for node in function.own_nodes if _is_division(node) and node not in divisions)
    targets = [target for node in others for target in getattr(node, "targets", None) or [node.target]]  # type: ignore[attr-defined]
    return None if any(analysis.roles.path(target, frame) == loss for target in targets) else divisions[0]


def _is_division(node: ast.AST) -> bool:
    """`x = y / n` and `x /= n`."""
    return (isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div)) or (
        isinstance(node, ast.Assign) and _divides_by(node.value)
    )


def _divides_by(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)

"""Gradients or a loss are measured, logged or disturbed while multiplied by the loss scale.

## What it does
Reports norms, histograms and noise on `.grad` between a scaled backward and the `unscale_` or step that divides, also
where the scaler is a framework's (Accelerate, Fabric, Lightning's `manual_backward` and `on_after_backward`): likely
then, and of low severity where the program does not say float16.

And `.item()` or `float()` of a variable that holds `scaler.scale(loss)`, and such a variable that is added up, logged,
printed or returned after its backward. A function that reckons with `get_scale()` does its own arithmetic: of it only a
scaled loss is reported that is divided by a scale read after `update()`. And `wandb.watch` of gradients in a program
that scales: its hooks run in the backward, before any `unscale_`.

A run also shows weight decay and noise that are added to the gradients before the scaler divides them, and scaled
losses that are read in another function than the one that scaled them.

## Impact
The number is wrong by the loss scale, 65,536 at first, and jumps by a factor of two whenever the scale changes.

## Why is this bad
The number is wrong by the loss scale, a factor of tens of thousands that changes while the run goes on: a logged norm
jumps by two for no reason, a threshold on it never fits, noise is tens of thousands of times too weak. Curves of runs
with and without AMP cannot be compared.

## What happens at run time
Silent on every torch (seen on 2.13, CPU): what is printed differs between runs that differ only in `init_scale`.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        print(f"gradient norm {float(norm):.4f}")
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
        scaler.unscale_(optimizer)
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        print(f"gradient norm {float(norm):.4f}")
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: where else `unscale_` is called decides where the reading may stand.

## What it cannot see
Gradients read through other hooks, or inside libraries. A scaled loss that is passed to another function before it is
read; what is done with one that is returned.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-gradients
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.protocol import Event
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.idioms import framework_scalers
from verifygate.static.idioms.scale_arithmetic import meets_the_scale
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Literal

RULE = Rule(
    code="AMP204",
    name="scaled-gradient-read",
    severity=Severity.MEDIUM,
    summary="gradients or a loss read while multiplied by the loss scale",
    remedy="read gradients after `scaler.unscale_(optimizer)`, and log the loss before `scaler.scale(loss)`",
    words=("GradScaler", "unscale_", "scaler", *framework_scalers.WORDS),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="told-invariance",
)

_READERS = frozenset({"item", "tolist"})
_SAME_NUMBER = frozenset({"detach", "cpu", "clone", "mean", "sum", "numpy", "float", "double"})
_ASK_ANYTHING = frozenset({"isfinite", "isnan", "isinf", "isinstance", "type", "id", "is_tensor", "backward", "grad"})
"""Functions for which it does not matter by what a loss is multiplied."""
_TESTS = frozenset({"isfinite", "isnan", "isinf"})


_TAKERS = (ast.Call, ast.AugAssign, ast.FormattedValue, ast.Dict, ast.List)


def check(analysis: Analysis) -> Iterator[Match]:
    """Readings of scaled gradients by the protocol, readings of scaled losses by name."""
    reports = analysis.violations(RULE.code)
    inner = {part for report in reports for part in walk(report.place.node) if part is not report.place.node}
    for report in reports:
        if report.place.node in inner:
            continue  # the norm of norms is reported once
        if _is_only_tested(report.place, analysis):
            continue
        if not meets_the_scale(report.place.node, report.place.function) and not _is_of_an_optimizer(
            report.place.function, analysis
        ):
            message = f"`{statement_text(report.place)}` reads gradients that are still multiplied by the loss scale"
            yield Match(
                report.place,
                message,
                certain=report.certain,
                steps=report.path,
                assumes=report.assumes,
                settling=report.settling,
            )
    for call in analysis.scaler_calls:
        if call.method == "scale":
            late = list(_divided_late(call, analysis))
            yield from late or _scaled_losses(call, analysis)
    yield from _watched(analysis)
    yield from framework_scalers.matches(Event.READ, "reads gradients", analysis)


def _is_only_tested(place: Location, analysis: Analysis, met: frozenset[str] = frozenset()) -> bool:
    """Whether what is read is asked for inf and NaN alone, through torch's functions, methods and names.

    The scale does not change the answer.
    """
    node, function = place.node, place.function
    while (outer := analysis.enclosing.parent(node, function)) is not None:
        match outer:
            case ast.Call(func=func) if last_name(func) in _TESTS:
                return True
            case ast.Call(func=func) if node is not func:
                if not analysis.roles.known_name(func, analysis.evaluator.root_frame(function)).startswith("torch."):
                    return False
            case ast.Assign(targets=[ast.Name(id=name)]) if name not in met:
                names = [each for each in function.own_nodes if isinstance(each, ast.Name) and each.id == name]
                read = [Location(function, each) for each in names if isinstance(each.ctx, ast.Load)]
                return bool(read) and all(_is_only_tested(each, analysis, met | {name}) for each in read)
            case ast.Compare() | ast.FormattedValue() | ast.stmt():
                return False
        node = outer
    return False


def _is_of_an_optimizer(function: Function, analysis: Analysis) -> bool:
    """Whether an optimizer of the project's own measures: it divides by the norm, as SAM does, and so by the scale."""
    bases = analysis.evaluator.outside_bases(function.owner) if function.owner is not None else ()
    return any(base.startswith("torch.optim.") for base in bases)


def _scaled_losses(call: ScalerCall, analysis: Analysis) -> Iterator[Match]:
    """Readings of the variable that `x = scaler.scale(...)` fills, until it is filled anew."""
    function = call.function
    if (holder := _holder(call, analysis)) is None:
        return
    if meets_the_scale(holder.targets[0], function):
        return
    name = holder.targets[0].id  # type: ignore[attr-defined]
    if (left := _returned(name, holder, function)) is not None:
        message = f"`{name}` is returned as the loss while it is multiplied by the loss scale"
        steps = ((Location(function, holder), "scaled"), (Location(function, left), "returned"))
        yield Match(Location(function, left), message, certain=False, steps=steps)
    derived = min(_derived(name, holder, function), default=None)
    for node in (each for kind in _TAKERS for each in function.of_kind(kind)):
        number, keep = _read(node, name), _kept(node, name)
        use = number or (keep if keep is not None and derived is not None and keep.lineno > derived else None)
        if use is None or use.lineno <= holder.lineno:
            continue
        place = Location(function, node)
        if _reaches(holder, use, function) and analysis.path_conditions.agree(Location(function, holder), place):
            message = f"`{statement_text(place)}` reads a loss that is multiplied by the loss scale"
            steps = ((Location(function, holder), "scaled"), (place, "read"))
            yield Match(place, message, certain=number is not None, steps=steps)


def _holder(call: ScalerCall, analysis: Analysis) -> ast.Assign | None:
    """The assignment that gives a variable the scaled loss: always, or by a conditional expression."""
    value: ast.AST = call.call
    for ancestor in analysis.enclosing.around(call.call, call.function):
        match ancestor.node:
            case ast.IfExp() if ancestor.part != "test":
                value = ancestor.node
            case ast.Assign(targets=[ast.Name(), *_]) if ancestor.node.value is value:
                return ancestor.node
            case _:
                return None
    return None


def _divided_late(call: ScalerCall, analysis: Analysis) -> Iterator[Match]:
    """Quotients of a scaled loss and a scale that is asked for only when `update()` may have changed it."""
    function = call.function
    if (holder := _holder(call, analysis)) is None:
        return
    name = holder.targets[0].id  # type: ignore[attr-defined]
    here = Location(function, holder)
    own = analysis.roles.object(call.receiver, call.frame)
    calls = [
        each for each in analysis.scaler_calls_in[function] if analysis.roles.object(each.receiver, each.frame) == own
    ]
    updates = [each.place for each in calls if each.method == "update" and each.place.line > holder.lineno]
    asked = {each.call for each in calls if each.method == "get_scale"}
    for node in function.of_kind(ast.BinOp):
        uses = [each for each in walk(node.left) if isinstance(each, ast.Name) and each.id == name]
        if not isinstance(node.op, ast.Div) or not any(_reaches(holder, use, function) for use in uses):
            continue
        place = Location(function, node)
        for read in asked & set(_definitions(node.right, function)):
            between = [each for each in updates if each.line < read.lineno]
            if any(analysis.path_conditions.agree(here, each) for each in between):
                message = f"`{statement_text(place)}` divides by the scale after `update()`, which may have changed it"
                steps = ((here, "scaled"), (between[0], "the scale may change"), (place, "divided"))
                remedy = "ask for `scaler.get_scale()` before `scaler.update()`, or keep the loss as it was"
                yield Match(place, message, certain=False, steps=steps, remedy=remedy)


def _definitions(expr: ast.expr, function: Function) -> Iterator[ast.AST]:
    """The nodes of an expression, and of what defines its names."""
    for node in walk(expr):
        yield node
        found = (reaching(node.id, node, function) or ()) if isinstance(node, ast.Name) else ()
        yield from (
            part for each in found if each.kind == "value" and each.expr is not None for part in walk(each.expr)
        )


def _watched(analysis: Analysis) -> Iterator[Match]:
    """Calls of `wandb.watch`, whose hooks take gradients as a backward makes them, in a program that scales."""
    scaled = [call for call in analysis.scaler_calls if call.method == "scale"]
    for call, function in analysis.calls if scaled else ():
        if last_name(call.func) != "watch" or not _is_watch(call, function, analysis):
            continue
        joined = next((each for each in scaled if analysis.call_graph.common(function, each.function)), None)
        if joined is not None:
            place = Location(function, call)
            message = f"`{statement_text(place)}` takes gradients in the backward, multiplied by the loss scale"
            remedy = 'watch parameters only (`log="parameters"`), and log gradients after `scaler.unscale_(optimizer)`'
            yield Match(place, message, certain=False, steps=((joined.place, "scaled"),), remedy=remedy)


def _is_watch(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a call is `wandb.watch`, or that of a run, and asks for gradients: by default it does."""
    frame = analysis.evaluator.root_frame(function)
    if analysis.roles.known_name(call.func, frame) != "wandb.watch":
        if not isinstance(call.func, ast.Attribute):
            return False
        values = analysis.evaluator.values(call.func.value, frame)
        if not any(isinstance(value, ExternalResult) and value.name == "wandb.init" for value in values):
            return False
    given = next((word.value for word in call.keywords if word.arg == "log"), None)
    given = call.args[2] if given is None and len(call.args) > 2 else given
    if given is None:
        return True
    values = analysis.evaluator.values(given, frame)
    return any(not isinstance(value, Literal) or value.value in ("all", "gradients") for value in values)


def _reaches(holder: ast.Assign, use: ast.Name, function: Function) -> bool:
    """Whether what a name stands for may be what an assignment gave it."""
    return any(binding.node is holder for binding in reaching(use.id, use, function) or ())


def _derived(name: str, holder: ast.Assign, function: Function) -> list[int]:
    """The lines in which the backward of a scaled loss is run."""
    return [
        node.lineno
        for node in function.calls
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
        and node.lineno > holder.lineno
    ]


def _returned(name: str, holder: ast.Assign, function: Function) -> ast.Return | None:
    """Where a function hands out a scaled loss whose backward it has run itself: nobody has to derive it any more."""
    derived = _derived(name, holder, function)
    for node in function.of_kind(ast.Return):
        if node.value is None or not derived or node.lineno <= min(derived):
            continue
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for part in map(_base, parts):
            if isinstance(part, ast.Name) and part.id == name and _reaches(holder, part, function):
                return node
    return None


def _read(node: ast.AST, name: str) -> ast.Name | None:
    """The loss of which a call takes the number: `loss.detach().item()`, `float(loss)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _READERS:
            while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
                base = base.func.value
        case ast.Call(func=ast.Name(id="float"), args=[base, *_]):
            pass
        case _:
            return None
    return base if isinstance(base, ast.Name) and base.id == name else None


def _kept(node: ast.AST, name: str) -> ast.Name | None:
    """A loss that has done its duty, and is added up, put in a list, logged or printed: then its number counts."""
    match node:
        case ast.Call() if last_name(node.func) not in _ASK_ANYTHING:
            given = [*node.args, *(word.value for word in node.keywords)]
        case ast.AugAssign(value=value) | ast.FormattedValue(value=value):
            given = [value]
        case ast.Dict(values=values):
            given = values
        case ast.List(elts=elements, ctx=ast.Load()):
            given = elements
        case _:
            return None
    bases = (_base(each) for each in given)
    return next((base for base in bases if isinstance(base, ast.Name) and base.id == name), None)


def _base(expr: ast.expr) -> ast.expr:
    """The tensor of `loss.detach().cpu()` or `loss.data`."""
    while True:
        match expr:
            case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[]) if attr in _SAME_NUMBER:
                expr = inner
            case ast.Attribute(value=inner, attr="data"):
                expr = inner
            case _:
                return expr

"""A GradScaler is built anew in every iteration of a loop.

## What it does
Reports a scaler that is built inside a loop over epochs or steps, or in a function that such a loop calls, however
many calls lie between, while the optimizer it steps lives on. A loop that builds an optimizer of its own in each
iteration (folds, seeds, tasks) starts a new training, and may start a new scaler. Also reports a scaler in a function
that takes a single step and that nothing in the project calls: a framework calls it for each batch.

## Impact
Each epoch begins at a scale of 65,536 again and skips steps until it has fallen to what the model bears.

## Why is this bad
The loss scale is learned: it halves on every overflow and doubles after 2000 clean steps. A new scaler forgets that.
Every epoch begins at 65536 again, with skipped steps until the scale is back to what the model bears, and the scale
never grows past what one epoch allows. Such a scaler cannot be saved and resumed either.

## What happens at run time
Silent (torch 2.13): each new scaler begins with `init_scale` and an empty growth tracker.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        scaler = torch.amp.GradScaler(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler = torch.amp.GradScaler(device)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: the scaler must move to where the optimizer is built, and be passed on from there.

## What it cannot see
Loops outside the project, such as a framework that calls a hook once per epoch.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

import ast
import re
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from verifygate.base.records import record
from verifygate.model import Severity, Witness
from verifygate.naming import speaks_of_a_scaler
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis, memoised
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.enclosing import Loop
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import UNKNOWN, ExternalResult

RULE = Rule(
    code="AMP301",
    name="scaler-recreated",
    severity=Severity.HIGH,
    summary="a GradScaler is built anew in every iteration of a loop",
    remedy="build the scaler once, where the optimizer is built, and pass it on",
    words=("GradScaler",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-trace-inf",
)

_MAX_CALLS = 6
_MAKES = r"(?i)optim|adam|sgd|lion|build|creat|make|config|set_?up|init|^eval$|^getattr$|instantiat"
"""Names of functions that may build an optimizer; some by the text of its name."""
_DEPTH = 3


@record
class _Turn:
    """A loop that leads to the scaler, and the calls between, innermost first."""

    loop: Loop
    function: Function
    calls: tuple[Location, ...]


def check(analysis: Analysis) -> Iterable[Match]:
    """Every scaler that a loop builds again while its optimizer lives on."""
    for scaler in analysis.scaler_allocations:
        if scaler.off or _is_built_once(scaler, analysis) or _learns_nothing(scaler, analysis):
            continue
        turn = next(_turns(scaler.place, analysis, ()), None)
        if turn is None:
            yield from _for_one_step(scaler, analysis)
            continue
        where = f"in `{scaler.function.name}`, which a loop calls" if turn.calls else "in a loop"
        yield Match(
            scaler.place,
            f"a new GradScaler is built {where}: the scale it has learned is lost in every turn",
            certain=_is_certain(scaler, turn, analysis),
            steps=(
                (Location(turn.function, turn.loop), "the loop"),
                *((place, "the call") for place in reversed(turn.calls)),
                (scaler.place, "the new scaler"),
            ),
        )


def _is_certain(scaler: ScalerAllocation, turn: _Turn, analysis: Analysis) -> bool:
    if (turn.calls and _trains_whole(scaler, analysis)) or _turns_once_unless_told(turn):
        return False
    if _may_begin_anew(turn, analysis):
        return False
    return not any(_is_switched_off(place, analysis) for place in (scaler.place, *turn.calls))


def _may_begin_anew(turn: _Turn, analysis: Analysis) -> bool:
    """Whether a call that is not followed may make an optimizer in the loop, for its scaler to be as new as."""
    frame = analysis.evaluator.root_frame(turn.function)
    nodes = tuple(node for part in turn.loop.body for node in walk(part))
    made = [
        binding.expr
        for target, binding in bound_targets(nodes)
        if isinstance(binding.expr, ast.Call) and analysis.roles.is_optimizer(target, frame)
    ]
    led_by = {place.node for place in turn.calls}
    for call in nodes:
        if call in led_by and isinstance(call, ast.Call):
            given = (*call.args, *(word.value for word in call.keywords))
            made += [each for each in given if isinstance(each, ast.Call)]
    values = (value for each in made for value in analysis.evaluator.values(each, frame))
    return any(
        value is UNKNOWN or (isinstance(value, ExternalResult) and not value.name.startswith(("torch.", "builtins.")))
        for value in values
    )


def _is_switched_off(place: Location, analysis: Analysis) -> bool:
    """Whether a constant, as it stands, leads past a place: `USE_AMP = False`, until someone edits it."""
    frame = analysis.evaluator.root_frame(place.function)
    conditions = analysis.enclosing.conditions(place.node, place.function)
    return any(analysis.evaluator.truth(test, frame) is (not holds) for test, holds in conditions)


def _for_one_step(scaler: ScalerAllocation, analysis: Analysis) -> Iterator[Match]:
    """A scaler in a function that takes one step with an optimizer from outside, and that nothing in sight calls.

    One step trains nothing: what calls it, a framework or what a registry gave, has to do so in every iteration.
    """
    function = scaler.function
    if not function.symbol or function.module.file.is_test or analysis.call_graph.sites(function):
        return
    made = _local_names(scaler, analysis)
    used = [
        each
        for each in analysis.scaler_calls_in.get(function, ())
        if isinstance(each.receiver, ast.Name) and each.receiver.id in made
    ]
    steps = [each for each in used if each.method == "step"]
    if (
        steps
        and not any(analysis.enclosing.loops(each.call, function) for each in used)
        and not _function_builds_optimizer(function, analysis)
    ):
        yield Match(
            scaler.place,
            f"a new GradScaler is built in `{function.name}` for the one step it takes: no scale is ever learned",
            certain=False,
            steps=((scaler.place, "the new scaler"), (steps[0].place, "its step")),
        )


def _local_names(scaler: ScalerAllocation, analysis: Analysis) -> set[str]:
    """The names of its function that the scaler is bound to; none where it is kept anywhere else."""
    around = analysis.enclosing.parent(scaler.call, scaler.function)
    targets = around.targets if isinstance(around, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names if len(names) == len(targets) else set()


def _learns_nothing(scaler: ScalerAllocation, analysis: Analysis) -> bool:
    """Whether all that is ever done with it is to multiply by the scale that it began with.

    So are gradients kept from underflow that no optimizer uses: those of influence functions, or of inputs.
    """
    made = _local_names(scaler, analysis)
    return bool(made) and _only_multiply(made, scaler.function, analysis, _DEPTH)


def _only_multiply(names: set[str], function: Function, analysis: Analysis, depth: int) -> bool:
    """Whether the names are only asked to scale, in the function and in those it hands them to."""
    (by_name,) = _other_uses(analysis, function)
    uses = {each for name in names for each in by_name.get(name, ())}
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls if uses and depth else ():
        given = uses & {*call.args, *(word.value for word in call.keywords)}
        if given and analysis.roles.known_name(call.func, frame) == "builtins.print":
            uses -= given
        for callee in analysis.evaluator.callees(call, frame) if given else ():
            entered = analysis.evaluator.enter(callee, call, frame)
            taken = {name: bound.expr for name, bound in entered.arguments.items()} if entered else {}
            inner = {name for name, expr in taken.items() if expr in given}
            if not _only_multiply(inner, callee.function, analysis, depth - 1):
                return False
            uses -= set(taken.values())
    return not uses


@memoised
def _other_uses(analysis: Analysis, function: Function) -> Iterator[dict[str, list[ast.Name]]]:  # noqa: ARG001 - the key
    """Name -> where a function loads it for more than to ask for `scale` or `get_scale`."""
    nodes = list(walk(function.node))
    asked = {each.value for each in nodes if isinstance(each, ast.Attribute) and each.attr in ("scale", "get_scale")}
    found: dict[str, list[ast.Name]] = {}
    for each in nodes:
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each not in asked:
            found.setdefault(each.id, []).append(each)
    yield found


def _is_built_once(scaler: ScalerAllocation, analysis: Analysis) -> bool:
    """Whether a condition asks if there is this scaler already, or the function remembers its result."""
    kept_as = _kept_as(scaler, analysis)
    for test, _ in analysis.enclosing.conditions(scaler.call, scaler.function):
        if not kept_as.isdisjoint(_named(test)) if kept_as else speaks_of_a_scaler(ast.unparse(test)):
            return True
    decorators = getattr(scaler.function.node, "decorator_list", ())
    return any("cache" in ast.unparse(decorator) or "property" in ast.unparse(decorator) for decorator in decorators)


def _kept_as(scaler: ScalerAllocation, analysis: Analysis) -> set[str]:
    """The names, attributes and keys that a scaler is assigned to where it is built."""
    for each in analysis.enclosing.around(scaler.call, scaler.function):
        if isinstance(each.node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = each.node.targets if isinstance(each.node, ast.Assign) else [each.node.target]
            return {name for target in targets for name in _named(target)} - {"self"}
    return set()


def _named(expr: ast.expr) -> Iterator[str]:
    """The variables, attributes and constant keys in an expression."""
    for node in walk(expr):
        if isinstance(node, ast.Name | ast.Attribute):
            yield last_name(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _turns(place: Location, analysis: Analysis, calls: tuple[Location, ...]) -> Iterator[_Turn]:
    """The loops whose every iteration reaches the location, if nothing between begins a training of its own."""
    function = place.function
    for loop in analysis.enclosing.loops(place.node, function):
        begins_anew, trains = _told_of(loop, function, analysis)
        if begins_anew:
            return
        if trains:
            yield _Turn(loop, function, calls)
            return
    if len(calls) >= _MAX_CALLS or _function_builds_optimizer(function, analysis):
        return
    met = {function, *(call.function for call in calls)}
    for site in analysis.call_graph.sites(function):
        if site.caller not in met:
            call = Location(site.caller, site.call)
            yield from _turns(call, analysis, (*calls, call))


_Told = WeakKeyDictionary[Analysis, dict[object, tuple[bool, bool]]]
_TOLD: _Told = WeakKeyDictionary()
"""Loop or function -> whether an optimizer is built in it (or the loop has one iteration), and whether it trains.

A function may make any number of scalers: it is read for the first of them."""


def _told_of(loop: Loop, function: Function, analysis: Analysis) -> tuple[bool, bool]:
    told = _TOLD.setdefault(analysis, {})
    if loop.body[0] not in told:
        body = [node for part in loop.body for node in walk(part)]
        begins_anew = _builds_optimizer(body, function, analysis, _DEPTH) or _ends_at_once(loop)
        told[loop.body[0]] = begins_anew, not begins_anew and _trains(body, function, analysis, _DEPTH)
    return told[loop.body[0]]


def _function_builds_optimizer(function: Function, analysis: Analysis) -> bool:
    told = _TOLD.setdefault(analysis, {})
    if function not in told:
        told[function] = _builds_optimizer(function.own_nodes, function, analysis, _DEPTH), False
    return told[function][0]


def _builds_optimizer(nodes: Iterable[ast.AST], function: Function, analysis: Analysis, depth: int) -> bool:
    """Whether an optimizer is built among the nodes, or in what they call."""
    nodes = tuple(nodes)
    frame = analysis.evaluator.root_frame(function)
    for target, binding in bound_targets(nodes):
        makes = isinstance(binding.expr, ast.Call) and (
            re.search(_MAKES, last_name(binding.expr.func)) or _is_given_parameters(binding.expr)
        )
        if (
            makes
            and "state" not in last_name(target)
            and analysis.roles.is_optimizer(target, frame)
            and binding.kind in ("value", "item")
        ):
            return True
    for node in nodes:
        if isinstance(node, ast.Call):
            name = analysis.roles.known_name(node.func, frame)
            if name.startswith("torch.optim.") and "lr_scheduler" not in name and "swa_utils" not in name:
                return True
            if depth and any(
                _builds_optimizer(callee.own_nodes, callee, analysis, depth - 1)
                for callee in analysis.call_graph.callees(node, function)
            ):
                return True
    return False


def _is_given_parameters(call: ast.Call) -> bool:
    """Whether a call gets what a model trains, first of all: `kind(model.parameters(), lr=1e-3)`."""
    return bool(call.args) and isinstance(call.args[0], ast.Call) and last_name(call.args[0]) == "parameters"


def _trains(nodes: Iterable[ast.AST], function: Function, analysis: Analysis, depth: int) -> bool:
    """Whether a backward runs among the nodes, or in what they call."""
    for node in nodes:
        if isinstance(node, ast.Call):
            if last_name(node.func) == "backward":
                return True
            if depth and any(
                _trains(callee.calls, callee, analysis, depth - 1)
                for callee in analysis.call_graph.callees(node, function)
            ):
                return True
    return False


def _ends_at_once(loop: Loop) -> bool:
    """Whether the first iteration is also the last, unless it fails: a loop that tries again."""
    return isinstance(loop.body[-1], ast.Break | ast.Return)


def _turns_once_unless_told(turn: _Turn) -> bool:
    """Whether the loop makes as many iterations as a command-line option says, which is 1 by default."""
    match turn.loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range" | "trange"), args=[count])) if name := last_name(count):
            option = rf"""["']--{name.replace("_", "[-_]")}["'][^)\n]*default\s*=\s*1\b"""
            return bool(re.search(option.encode(), turn.function.module.file.data))
    return False


def _trains_whole(scaler: ScalerAllocation, analysis: Analysis) -> bool:
    """Whether the function that builds it loops over epochs itself: being called again may be a new training."""
    return any(
        last_name(node.func) == "backward" and len(analysis.enclosing.loops(node, scaler.function)) > 1
        for node in scaler.function.calls
    )

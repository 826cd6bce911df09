"""One autocast region outlives a change of the weights, and goes on with its casts of the old ones.

## What it does
Reports

- a region that stays open over two steps of one optimizer with a backward between them, in one function or through
  calls;
- a region in which a model runs, gets other weights (an EMA's, `load_state_dict`, a loop over its parameters that
  overwrites them, an attack on the weights), and runs again.

## Impact
Training stands still: every forward computes with the first weights, and the loss stays the same to the last digit.

## Why is this bad
The first time a float32 weight is used in a region, autocast keeps its half-precision copy, and drops the copies only
when the outermost region is left. Steps inside do not reach them: every forward computes with the weights of the first
one, so the loss stays where it was while the optimizer moves weights that nothing reads. For an EMA, the teacher's
output is the student's.

## What happens at run time
Silent. Seen on torch 2.13 (CPU): with a region around a correct loop the loss is the same to the last digit in every
step, also where the outer region is switched off with `enabled=False`; after a swap the second forward gives the same
bits as the first. With `cache_enabled=False` both are right.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    with torch.autocast(device, dtype=torch.float16):
        for inputs, targets in batches:
            train_step(model, loss_fn, optimizer, scaler, inputs, targets, device)


def train_step(model, loss_fn, optimizer, scaler, inputs, targets, device):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device, dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    with torch.autocast(device, enabled=False):
        scaler.scale(loss).backward()
        scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        train_step(model, loss_fn, optimizer, scaler, inputs, targets, device)


def train_step(model, loss_fn, optimizer, scaler, inputs, targets, device):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device, dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
No automatic fix: only the author knows which statements have to stay in the region.

## What it cannot see
Regions entered in code outside the project, and those entered by hand in a loop that does not leave them again. Two
optimizers that alternate in one region are not reported: it is unknown whether the second reads what the first wrote.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.roles import identifiers
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.frozen_models import needs_no_gradients
from verifygate.static.idioms.region_spans import further_places
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Frame, FunctionValue, Object

RULE = Rule(
    code="AMP104",
    name="autocast-stale-weights",
    severity=Severity.CRITICAL,
    summary="one autocast region covers several optimizer steps, or a swap of weights between two forwards",
    remedy="enter the region anew for each forward: end it before the weights change",
    words=("autocast",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="loss-progress",
)

_IN_PLACE = frozenset({"copy_", "mul_", "add_", "lerp_", "sub_", "div_"})
_SWAPS = frozenset({"apply_shadow", "copy_to", "average_parameters", "ema_scope"})
"""Methods by which moving averages of weights are put in the place of the weights."""
_OF_EVERY_MODULE = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "bfloat16", "apply", "compile", "requires_grad_"}
    | {"state_dict", "load_state_dict", "zero_grad", "parameters", "named_parameters", "buffers", "named_buffers"}
    | {"modules", "named_modules", "children", "named_children", "add_module", "get_submodule", "get_parameter"}
    | {"register_buffer", "register_parameter", "register_module", "register_forward_hook"}
)
"""Methods of `torch.nn.Module` that compute nothing from inputs."""
_REMEDY = "leave the autocast region before the weights change, and enter it again for the next forward"


def check(analysis: Analysis) -> Iterable[Match]:
    """Spans of regions that the walk met, then swaps of weights written in a region."""
    for report in analysis.violations(RULE.code):
        yield Match(
            report.place,
            f"this region stays open over several steps of `{_named(report)}`:"
            " every forward in it uses the weights of the first",
            certain=report.certain,
            assumes=report.assumes,
            settling=report.settling,
            steps=report.path,
            places=tuple(place for place, _ in further_places(report, analysis)),
        )
    writing = _writing(analysis)
    for region in analysis.written_regions.all:
        if region.is_active and region.around is None and region.region.caches:
            known = list(_swaps(region, analysis))
            yield from known
            reported = {match.place.node for match in known}
            for swap in (call for call in region.calls if call not in reported):
                if last_name(swap.func) in writing and (model := _swapped_below(swap, region, analysis)):
                    yield Match(
                        Location(region.function, swap),
                        f"`{ast.unparse(swap.func)}` changes the weights of `{model}` in a region that has cast them"
                        " already: the next forward still uses the old ones",
                        certain=False,
                        remedy=_REMEDY,
                    )


def _named(report: ViolationReport) -> str:
    return report.optimizer.without_home if report.optimizer is not None else ""


def _writing(analysis: Analysis) -> set[str]:
    """The names of the functions that write weights, and of the methods that have another of their object do so."""
    found = {each.name for each in analysis.functions if any(_written_in(each, analysis))}
    methods = [each for each in analysis.functions if each.owner is not None] if found else []
    return found | {
        each.name for each in methods if any(last_name(call.func) in found for call in _own_methods_called(each))
    }


def _swaps(region: WrittenRegion, analysis: Analysis) -> Iterable[Match]:
    """Swaps with a forward of the swapped model before and after."""
    frame = analysis.evaluator.root_frame(region.function)
    for swap in region.nodes:
        if isinstance(swap, ast.Call):
            linked = _swapped_names(swap, frame, analysis)
        else:
            linked = frozenset(map(last_name, _overwritten(swap, region.function, analysis)))
        if not linked:
            continue
        sides: dict[AccessPath, set[bool]] = {}
        for call in region.calls:
            if last_name(call.func) in linked and isinstance(call.func, ast.Name | ast.Attribute) and call is not swap:
                after = (call.lineno, call.col_offset) > (swap.lineno, swap.col_offset)  # type: ignore[attr-defined]
                sides.setdefault(analysis.roles.path(call.func, frame), set()).add(after)
        if any(len(both) == 2 for both in sides.values()):
            yield Match(
                Location(region.function, swap),
                f"`{statement_text(Location(region.function, swap))}` changes weights in a region that has cast them"
                " already: the next forward still uses the old ones",
                certain=isinstance(swap, ast.Call) and last_name(swap.func) != "load_state_dict",
                remedy=_REMEDY,
            )


def _swapped_below(swap: ast.Call, region: WrittenRegion, analysis: Analysis) -> str:
    """The model that runs before and after a call of the project's own, which loads or writes other weights into it.

    It may run again in that very call: an attack changes the weights, and computes the loss that they give.
    """
    evaluator, path = analysis.evaluator, analysis.roles.path
    dropped = {each.value for each in region.nodes if isinstance(each, ast.Expr)}
    runs = [(call, model) for call in region.calls if call is not swap for model in _run_by(call, dropped)]
    entries = (each for _, each in analysis.call_graph.entries(region.function))
    for frame in (evaluator.root_frame(region.function), *entries):
        swapped: set[AccessPath] = set()
        again: dict[AccessPath, str] = {}
        for callee in evaluator.callees(swap, frame):
            if (entered := evaluator.enter(callee, swap, frame)) is not None:
                for at, written in _writes(entered, analysis):
                    swapped |= written
                    again |= _run_behind(at, written, entered, analysis)
        before = {path(model, frame) for call, model in runs if _is_before(call, swap)} & swapped
        for call, model in runs if before else ():
            if not _is_before(call, swap) and path(model, frame) in before:
                return ast.unparse(model)
        for name in before & again.keys():
            return again[name]
    return ""


def _run_by(call: ast.Call, dropped: set[ast.expr]) -> list[ast.expr]:
    """What a call may run as a model: what is called, and the object whose method computes something from inputs."""
    match call.func:
        case ast.Attribute(value=ast.Name() | ast.Attribute() as model, attr=method) if (
            method not in _OF_EVERY_MODULE and (call.args or call.keywords) and call not in dropped
        ):
            return [call.func, model]
        case ast.Name() | ast.Attribute():
            return [call.func]
    return []


def _writes(entered: Frame, analysis: Analysis) -> Iterator[tuple[ast.expr, set[AccessPath]]]:
    """Where a function writes weights, or has a method of its own object do so, with the models by path."""
    for model in _written_in(entered.function, analysis):
        yield model, set(_paths(model, entered, analysis))
    for call in _own_methods_called(entered.function):
        for callee in analysis.evaluator.callees(call, entered):
            if (inner := analysis.evaluator.enter(callee, call, entered)) is not None:
                written = {
                    name for each in _written_in(callee.function, analysis) for name in _paths(each, inner, analysis)
                }
                yield call, written


def _run_behind(at: ast.expr, written: set[AccessPath], entered: Frame, analysis: Analysis) -> dict[AccessPath, str]:
    """The models among them that the same function runs behind the place that writes them: path -> text."""
    found: dict[AccessPath, str] = {}
    for call in entered.function.calls if written else ():
        if _is_before(at, call):
            for model in _run_by(call, set()):
                found |= dict.fromkeys(written.intersection(_paths(model, entered, analysis)), ast.unparse(model))
    return found


def _own_methods_called(function: Function) -> list[ast.Call]:
    """The calls of methods of the object whose method it is."""
    if function.owner is None or not function.parameters:
        return []
    own = function.parameters[0].arg
    return [
        call
        for call in function.calls
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == own
    ]


def _is_before(one: ast.expr, other: ast.expr) -> bool:
    return (one.lineno, one.col_offset) < (other.lineno, other.col_offset)


def _written_in(function: Function, analysis: Analysis) -> Iterator[ast.expr]:
    """The models into which a function loads weights, or whose weights it overwrites in a loop."""
    for node in function.own_nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=model, attr="load_state_dict"), keywords=words):
                if all(word.arg != "assign" for word in words):
                    yield model
            case ast.For():
                yield from _overwritten(node, function, analysis)


def _paths(model: ast.expr, frame: Frame, analysis: Analysis) -> Iterator[AccessPath]:
    """What a model is for the code around a call: for `self.model` what the object was built with."""
    yield analysis.roles.path(model, frame)
    if not isinstance(model, ast.Attribute) or frame.receiver is None or ast.unparse(model.value) != "self":
        return
    receiver = frame.receiver
    while ast.unparse(receiver.expr) == "self" and receiver.frame.receiver is not None:
        receiver = receiver.frame.receiver  # one method of the object has called another
    for value in analysis.evaluator.values(receiver.expr, receiver.frame):
        if not isinstance(value, Object) or value.call is None or not isinstance(value.call.expr, ast.Call):
            continue
        call, home = value.call.expr, value.call.frame
        for made in analysis.evaluator.linearised(value.made):
            for binding, owner in made.attributes.get(model.attr, ()):
                built = owner and analysis.evaluator.enter(FunctionValue(owner, value.call), call, home)
                given = built.arguments.get(binding.expr.id) if built and isinstance(binding.expr, ast.Name) else None
                if given is not None:
                    yield analysis.roles.path(given.expr, given.frame)


def _overwritten(node: ast.AST, function: Function, analysis: Analysis) -> list[ast.expr]:
    """The models whose weights an operation in place overwrites, for a variable of a loop over them.

    `a.mul_(0.99).add_(b)`, where `for a, b in zip(teacher.parameters(), student.parameters())`. Not those that are
    frozen: no cast of a weight that needs no gradient is kept.
    """
    if not isinstance(node, ast.For):
        return []
    zipped = isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "zip"
    given = node.iter.args if zipped else [node.iter]  # type: ignore[attr-defined]
    targets = node.target.elts if zipped and isinstance(node.target, ast.Tuple) else [node.target]
    weights = {}
    for target, each in zip(targets, given, strict=False):
        match target, each:
            case (ast.Name(id=name), ast.Call(func=ast.Attribute(value=model, attr="parameters"))) | (
                ast.Tuple(elts=[_, ast.Name(id=name)]),
                ast.Call(func=ast.Attribute(value=model, attr="named_parameters")),
            ):
                weights[name] = model
    if not weights:
        return []
    written = [each for below in walk(node) for each in _written(below)]
    found = [weights[name] for each in written if (name := _root(each)) in weights]
    return [model for model in found if not needs_no_gradients(model, function, analysis)]


def _written(node: ast.AST) -> list[ast.expr]:
    """What is overwritten: the weight of `a.mul_(0.99)`, of `a.data = b` and of `a.data *= 0.99`."""
    match node:
        case ast.Call(func=ast.Attribute(value=weight, attr=attr)) if attr in _IN_PLACE:
            return [weight]
        case ast.AugAssign(target=weight):
            return [weight]
        case ast.Assign(targets=targets):
            return [each for each in targets if isinstance(each, ast.Attribute) and each.attr == "data"]
    return []


def _root(expr: ast.expr) -> str:
    """`a` of `a.data.copy_`."""
    while isinstance(expr, ast.Attribute):
        expr = expr.value
    return expr.id if isinstance(expr, ast.Name) else ""


def _swapped_names(swap: ast.Call, frame: Frame, analysis: Analysis) -> frozenset[str] | None:
    """Last names of the models that may get other weights by a call; None where it is no swap."""
    if not isinstance(swap.func, ast.Attribute):
        return None
    if swap.func.attr == "load_state_dict":
        replaced = any(word.arg == "assign" for word in swap.keywords)
        return None if replaced else frozenset({last_name(swap.func.value)})
    if swap.func.attr not in _SWAPS:
        return None
    names = frozenset(name for argument in swap.args for name in identifiers(argument))
    return names.union(*(identifiers(call) for call in _bindings(swap.func.value, frame, analysis)))


def _bindings(expr: ast.expr, frame: Frame, analysis: Analysis) -> list[ast.Call]:
    """The calls that a name is bound to: `ema = EMA(model, 0.999)`."""
    if isinstance(expr, ast.Name) and (found := analysis.evaluator.lookup(expr.id, frame)):
        return [each.expr for each in found[0] if isinstance(each.expr, ast.Call)]
    if isinstance(expr, ast.Attribute):
        return [
            binding.expr
            for value in analysis.evaluator.values(expr.value, frame)
            if isinstance(value, Object)
            for made in analysis.evaluator.linearised(value.made)
            for binding, _ in made.attributes.get(expr.attr, ())
            if isinstance(binding.expr, ast.Call)
        ]
    return []

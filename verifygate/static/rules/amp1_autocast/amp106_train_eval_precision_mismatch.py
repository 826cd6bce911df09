"""The evaluation computes its loss in another precision than the training that it is compared with.

## What it does
Reports an evaluation that runs the model of a training loop, and works out the same loss, where one of the two is in
an autocast region and the other is not, where their regions cast to different dtypes, or where the conditions that
switch the two on share nothing. One method may work out both losses, and the model may give its own (`outputs.loss`).
Also a frozen reference that runs without gradients outside the region, where its result is subtracted from what the
trained model gives for the same computation inside.

## Impact
Training and validation losses cannot be compared: the same weights give losses that differ in the fourth digit.

## Why is this bad
Training loss and validation loss are then not two readings of one quantity. The gap between them, by which people
judge overfitting, stop early and choose checkpoints, holds the difference of two precisions as well. What is evaluated
in float32 is also not what was trained, costs about twice the memory and the time, and may hide an overflow that the
deployed half-precision model has.

## What happens at run time
Silent. Seen on torch 2.13 (CPU): with weights that are the same to the last bit, an evaluation outside the region gives
another loss than one inside, in the fourth digit.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return evaluate(model, loss_fn, batches)


@torch.no_grad()
def evaluate(model, loss_fn, batches):
    total = 0.0
    for inputs, targets in batches:
        total += loss_fn(model(inputs), targets)
    return float(total)
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
        scaler.step(optimizer)
        scaler.update()
    return evaluate(model, loss_fn, batches, device)


@torch.no_grad()
def evaluate(model, loss_fn, batches, device):
    total = 0.0
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.float16):
            total += loss_fn(model(inputs), targets)
    return float(total)
```

## Fix safety
No automatic fix: the reported numbers change, and evaluating in float32 may be meant. Then say so in a suppression.

## What it cannot see
Whether anybody compares the numbers: both loops work out one loss, that is all. So findings are likely, never certain.
Metrics that are no losses, evaluations in a comprehension, and those in files without a word of AMP or of loading data,
are not looked at.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.model import Severity
from verifygate.naming import names_a_loss
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.autograd_mode import is_off
from verifygate.static.facts.counted_evaluations import differentiates
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.hot_loops import HotLoop
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.facts.step_tensors import is_loss_call
from verifygate.static.idioms.paired_forwards import differ, paired_forwards, reads_loss_of_output
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Bound, ExternalResult
from verifygate.torch_names import PARALLEL

RULE = Rule(
    code="AMP106",
    name="train-eval-precision-mismatch",
    severity=Severity.LOW,
    summary="the evaluation computes its loss in another precision than the training",
    remedy="run the evaluation in the same autocast region as the training",
    words=("autocast",),
    proof="told-of-the-same",
)

_OTHER_WAYS = r"(?i)autocast|amp\b|scaler|half|b?f(?:loat|p)?_?16|precision|accelerat|deepspeed|fabric"

_PURPOSES = r"^(?:train|training|val|valid|validation|test|eval)_|_(?:train|training|val|valid|validation|test|eval)$"
_CASTS = frozenset({"half", "bfloat16"})


@record
class _Forward:
    """A call that runs a model, and the region around it."""

    call: ast.Call
    function: Function
    region: WrittenRegion | None
    through: Location | None = None
    """The call in the loop that leads to it, where it stands in another function."""

    @property
    def place(self) -> Location:
        return Location(self.function, self.call)


def check(analysis: Analysis) -> Iterable[Match]:
    """What is found, each place once: one method may be run by several loops."""
    seen: set[tuple[str, int, int]] = set()
    for match in _matches(analysis):
        place = (match.place.path, match.place.line, match.place.column)
        if place not in seen:
            seen.add(place)
            yield match


def _matches(analysis: Analysis) -> Iterator[Match]:
    """Each evaluating loop, beside the training loops of the same model and the same loss."""
    loops = [loop for loop in analysis.hot_loops.loops if loop.trains or _evaluates(loop, analysis)]
    others = analysis.counted_evaluations if any(each.trains for each in loops) else ()
    loops += [loop for loop in others if _evaluates(loop, analysis)]
    forwards = {loop: list(_forwards(loop, analysis)) for loop in loops}
    losses = {loop: _losses(loop, analysis) for loop in loops}
    with_loss: dict[str, list[int]] = {}
    for number, loop in enumerate(loops):
        for loss in losses[loop] if loop.trains else ():
            with_loss.setdefault(loss, []).append(number)
    for evaluation in (loop for loop in loops if not loop.trains):
        alike = sorted({number for loss in losses[evaluation] for number in with_loss.get(loss, ())})
        matches = (
            _match(trained, measured, analysis)
            for training in (loops[number] for number in alike)
            for trained in forwards[training]
            for measured in forwards[evaluation]
            if _models(trained, analysis) & _models(measured, analysis)
        )
        if match := next(filter(None, matches), None):
            yield match
    for loop in loops:
        if loop.trains and losses[loop] and (match := _by_turns(loop, analysis)):
            yield match
        if loop.trains:
            yield from _subtracted(loop, analysis)


def _subtracted(loop: HotLoop, analysis: Analysis) -> Iterator[Match]:
    """Two models, of which one runs in the region and the other outside, and the difference of their results."""
    for pair in paired_forwards(loop, analysis):
        cover = analysis.region_coverage.cover(pair.trained, loop.function)
        if cover is None or analysis.region_coverage.cover(pair.reference, loop.function) is not None:
            continue
        if analysis.region_coverage.written_around(pair.reference, loop.function) is not None:
            continue
        callees = analysis.call_graph.callees(pair.reference, loop.function)
        if any(_sees_to_it(each, analysis) for each in callees):
            continue
        reference, trained = Location(loop.function, pair.reference), Location(loop.function, pair.trained)
        yield Match(
            reference,
            f"`{statement_text(reference)}` runs outside autocast, `{statement_text(trained)}` inside:"
            " their difference holds that of two precisions",
            certain=False,
            steps=((trained, "in the region"), (cover.region.place, "its region")),
            remedy="run both models in the same autocast region",
        )


def _by_turns(loop: HotLoop, analysis: Analysis) -> Match | None:
    """In a loop that trains or evaluates, as a condition says: the forward without gradients beside the other.

    Both give what goes by one name, and so into one loss.
    """
    spots = [spot for spot in analysis.hot_loops.spots(loop.function) if loop.node in spot.loops]
    forwards = [
        (spot, _Forward(spot.node, loop.function, cover.region if cover else None))
        for spot in spots
        if isinstance(spot.node, ast.Call) and analysis.hot_loops.is_model(spot.node.func, loop.function)
        for cover in (analysis.region_coverage.cover(spot.node, loop.function),)
    ]
    for spot, measured in forwards:
        if not is_off(spot, analysis.evaluator):
            continue
        for other, trained in forwards:
            if is_off(other, analysis.evaluator):
                continue  # another way to evaluate
            apart = other is not spot and not analysis.path_conditions.agree(measured.place, trained.place)
            same = ast.unparse(measured.call.func) == ast.unparse(trained.call.func)
            if trained.region is not None and apart and same and _targets(spot) & _targets(other):
                return _match(trained, measured, analysis)
    return None


def _targets(spot: ProgramPoint) -> set[str]:
    return {ast.unparse(each) for each in spot.statement.targets} if isinstance(spot.statement, ast.Assign) else set()


def _match(trained: _Forward, measured: _Forward, analysis: Analysis) -> Match | None:
    """What differs between the two, where anything does."""
    shared = measured.through is not None and measured.call is trained.call
    place = measured.through if shared and measured.through is not None else measured.place
    if shared and not _works_out_a_loss(place, analysis):
        return None
    text = statement_text(place)
    if trained.region is not None and measured.region is not None:
        if differ(trained.region, measured.region, analysis):
            one, other = (_condition(each) for each in (trained.region, measured.region))
            message = f"`{text}` evaluates in autocast {other}, the same model is trained in it {one}"
            steps = [(trained.place, "in training"), (trained.region.place, "its region")]
            steps.append((measured.region.place, "its region"))
            return Match(place, message, certain=False, steps=tuple(steps))
        # on one device two regions without a dtype agree: any will do to compare them with one that has a dtype
        dtypes = [analysis.region_dtypes.of(each, AssumedDevice.CUDA) for each in (trained.region, measured.region)]
        if dtypes[0] & dtypes[1] or Dtype.UNKNOWN in dtypes[0] | dtypes[1]:
            return None
        one, other = (" or ".join(sorted(f"torch.{dtype}" for dtype in each)) for each in dtypes)
        message = f"`{text}` evaluates in {other}, the same model is trained in {one}"
    elif trained.region is not None:
        message = f"`{text}` evaluates outside autocast, the same model is trained inside"
    elif measured.region is not None and _is_plain(trained):
        message = f"`{text}` evaluates inside autocast, the same model is trained outside"
    else:
        return None
    steps = [(trained.place, "in training")]
    steps += [(each.region.place, "its region") for each in (trained, measured) if each.region is not None]
    return Match(place, message, certain=False, steps=tuple(steps))


def _condition(region: WrittenRegion) -> str:
    return f"if `{ast.unparse(region.region.enabled.expr)}`" if region.region.enabled is not None else "always"


def _evaluates(loop: HotLoop, analysis: Analysis) -> bool:
    """Whether a loop that does not train is there to measure: autograd is off around it, or its model in eval mode.

    Where weights are cast instead, evaluation has a precision of its own.
    """
    if any(last_name(call.func) in _CASTS for call in loop.function.calls):
        return False
    spots = [*_spots(loop, analysis), *analysis.hot_loops.sites(loop.function)]
    return any(is_off(spot, analysis.evaluator) for spot in spots) or any(
        last_name(call.func) == "eval" for call in loop.function.calls
    )


def _spots(loop: HotLoop, analysis: Analysis) -> Iterator[ProgramPoint]:
    """What an iteration of a loop may run, in some iterations or in all, and what it calls in all of them."""
    yield from (spot for spot in analysis.hot_loops.spots(loop.function) if loop.node in spot.loops)
    yield from (spot for spot in loop.iteration_points if spot.function is not loop.function)


def _losses(loop: HotLoop, analysis: Analysis) -> frozenset[str]:
    """The names of the functions by which an iteration works out its losses; `.loss` where the model gives its own."""
    found = set()
    for spot in _spots(loop, analysis):
        match spot.node:
            case ast.Call() as call if is_loss_call(call):
                found.add(_without_purpose(last_name(call.func)))
            case ast.Assign(targets=[target], value=ast.Call(func=func)) if analysis.hot_loops.is_model(
                func, spot.function
            ):
                found |= {".loss"} if names_a_loss(ast.unparse(target)) else set()
            case ast.Assign(value=ast.Attribute(attr="loss") | ast.Subscript(slice=ast.Constant(value="loss"))):
                found.add(".loss")
            case ast.AugAssign(value=value) | ast.Call(func=value) if reads_loss_of_output(value, spot, analysis):
                found.add(".loss")
    return frozenset(found)


def _without_purpose(name: str) -> str:
    """The name of a loss without what it is for: `test_criterion` beside `criterion` is the one of the tests."""
    return re.sub(_PURPOSES, "", name, flags=re.IGNORECASE) or name


def _forwards(loop: HotLoop, analysis: Analysis) -> Iterator[_Forward]:
    """The calls that run a model, one for each name of a model: those in a region first."""
    by_name: dict[str, list[_Forward]] = {}
    entered = _entered(loop, analysis)
    for spot in _spots(loop, analysis):
        call, function = spot.node, spot.function
        if not isinstance(call, ast.Call) or is_loss_call(call) or not analysis.hot_loops.is_model(call.func, function):
            continue
        if any(_sees_to_it(each, analysis) for each in analysis.call_graph.callees(call, function)):
            continue  # the model chooses its precision itself
        below = function is not loop.function and not loop.trains
        if below and differentiates(function, analysis.call_graph):
            continue  # it optimises something for the evaluation, and measures nothing
        written = analysis.region_coverage.written_around(call, function)
        if written is not None and not written.is_active:
            continue  # in an island: meant so
        through = None
        if function is not loop.function and written is None and function in entered:
            through, region = entered[function]
        else:
            region = _region(call, function, loop, analysis)
        forward = _Forward(call, function, region, through)
        by_name.setdefault(last_name(call.func), []).append(forward)
    for forwards in by_name.values():
        there = [each for each in forwards if each.region is not None] or forwards
        yield next((each for each in there if _gives_a_loss(each, analysis)), there[0])


def _works_out_a_loss(through: Location, analysis: Analysis) -> bool:
    """Whether what a call runs computes a loss itself: else it may sample, or prepare what another model is given."""
    if not isinstance(through.node, ast.Call):
        return False
    callees = analysis.call_graph.callees(through.node, through.function)
    return is_loss_call(through.node) or any(is_loss_call(call) for callee in callees for call in callee.calls)


def _region(call: ast.Call, function: Function, loop: HotLoop, analysis: Analysis) -> WrittenRegion | None:
    """The region around a call in a loop; for an evaluation none where a caller runs it outside of every region."""
    cover = analysis.region_coverage.cover(call, function)
    if cover is None:
        return None
    written = analysis.region_coverage.written_around(call, function)
    if written is None and not loop.trains and cover.certain and analysis.region_coverage.is_left_out(function):
        return None
    return cover.region


def _entered(loop: HotLoop, analysis: Analysis) -> dict[Function, tuple[Location, WrittenRegion | None]]:
    """The functions that an iteration calls: the call in the loop that leads there, and the region around it."""
    found: dict[Function, tuple[Location, WrittenRegion | None]] = {}
    islands: set[Function] = set()
    queue: list[tuple[ProgramPoint, Location | None, WrittenRegion | None]] = [
        (spot, None, None) for spot in analysis.hot_loops.spots(loop.function) if loop.node in spot.loops
    ]
    while queue:
        spot, through, region = queue.pop(0)
        if not isinstance(spot.node, ast.Call):
            continue
        written = analysis.region_coverage.written_around(spot.node, spot.function)
        if written is not None and not written.is_active:
            islands.update(analysis.hot_loops.callees(spot))
            continue
        if written is None and through is None:
            region = _region(spot.node, spot.function, loop, analysis)
        for callee in analysis.hot_loops.callees(spot):
            if callee not in found and callee is not loop.function:
                found[callee] = through or spot.place, written or region
                queue += [(inner, *found[callee]) for inner in analysis.hot_loops.spots(callee)]
    return {function: entry for function, entry in found.items() if function not in islands}


def _sees_to_it(forward: Function, analysis: Analysis) -> bool:
    """Whether what runs when a model is called says in which precision: not where only a part of it is an island."""
    regions = analysis.written_regions.by_function.get(forward, [])
    if any(each.is_active for each in regions):
        return True
    inside = {call for each in regions for call in each.calls}
    parts = [call for call in forward.calls if ast.unparse(call.func).startswith("self.")]
    return bool(regions) and inside.issuperset(parts)


def _gives_a_loss(forward: _Forward, analysis: Analysis) -> bool:
    """Whether what a call gives is named a loss: that is what is compared, where an iteration takes outputs as well."""
    outer = analysis.enclosing.parent(forward.call, forward.function)
    return isinstance(outer, ast.Assign) and any(names_a_loss(ast.unparse(target)) for target in outer.targets)


def _models(forward: _Forward, analysis: Analysis) -> frozenset[AccessPath]:
    """The access paths of the model that a call runs: of a parameter, what each caller gives for it.

    What runs a model on several devices is that model.
    """
    function, func = forward.function, forward.call.func
    models = [Bound(func, analysis.evaluator.root_frame(function))]
    if isinstance(func, ast.Name):
        models += [bound for _, bound in analysis.call_graph.given(func.id, function)]
    for model in list(models):
        for value in analysis.evaluator.values(model.expr, model.frame):
            match value:
                case ExternalResult(name=name, calls=[(made, home), *_]) if name in PARALLEL and made.args:
                    models.append(Bound(made.args[0], home))
    paths = {analysis.roles.path(each.expr, each.frame) for each in models}
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        holders = (bound for _, bound in analysis.call_graph.given(func.value.id, function))
        paths |= {analysis.roles.path(each.expr, each.frame).attribute(func.attr) for each in holders}
    return frozenset(path.without_last_attribute("module") for path in paths)


def _is_plain(trained: _Forward) -> bool:
    """Whether nothing about a training loop outside autocast speaks of another way to a lower precision."""
    return not re.search(_OTHER_WAYS, ast.unparse(trained.function.node))

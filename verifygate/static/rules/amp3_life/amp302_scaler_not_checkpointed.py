"""A checkpoint keeps the optimizer's state for resuming, and not the scaler's.

## What it does
Reports

- an optimizer state in a checkpoint, if nothing in the program saves the state of its GradScaler;
- loading an optimizer state, if the program saves the scaler's state but never loads it;
- one of several scalers of the same training whose state is left out where another's is saved or loaded;
- one of several branches that resume, which loads only the optimizer's state while another also loads the scaler's;
- an optimizer state that a program saves itself, where Accelerate, Fabric or Lightning steps the optimizer by a scaler;
- a wrapper that returns its scaler's state and drops the state that is passed back to it.

Scalers that are never enabled do not count, nor do checkpoints that contain only weights.

## Impact
A resumed run starts at a scale of 65,536 again: steps are skipped until it has fallen, or it takes thousands of steps
to grow, and the run is no continuation.

## Why is this bad
A resumed run starts again at the initial scale of 65536. If training had settled far below that, the first steps
overflow and are skipped until the scale is back down; if it had grown, it takes thousands of steps to grow again. The
resumed run is not the run that was interrupted, and two resumptions of it differ from one.

## What happens at run time
Silent (torch 2.13). `GradScaler.state_dict()` holds the scale, its growth tracker and the settings; of a disabled
scaler it is empty, and loading is a no-op, so it costs nothing to save it always.

## Example
```python
import io

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    batches = list(batches)
    epoch(model, loss_fn, optimizer, scaler, batches, device)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    resume(model, optimizer, torch.load(file))
    scaler = torch.amp.GradScaler(device)
    epoch(model, loss_fn, optimizer, scaler, batches, device)


def resume(model, optimizer, checkpoint):
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])


def epoch(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import io

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    batches = list(batches)
    epoch(model, loss_fn, optimizer, scaler, batches, device)
    file = io.BytesIO()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    torch.save(state, file)
    file.seek(0)
    scaler = torch.amp.GradScaler(device)
    resume(model, optimizer, scaler, torch.load(file))
    epoch(model, loss_fn, optimizer, scaler, batches, device)


def resume(model, optimizer, scaler, checkpoint):
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])


def epoch(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe if saving and loading are in one file and the scaler is available at both. The state is saved under a key named
like the optimizer's, and loaded if the checkpoint has it and it is not empty, so older checkpoints and those of runs
without AMP load as before. Unsafe if nothing in the project loads the checkpoint, because its readers are unknown. No
fix if the scaler would have to be passed to a function first.

## What it cannot see
Checkpoints written by frameworks, but for a `Checkpointer` that is given the optimizer or the trainer, and
states collected by walking over attributes. The state of any scaler in the program counts as saved with any
optimizer's. Where something unknown is kept under a key that says "scaler", there is no finding, and the place is among
those not followed. A file in a temporary folder counts only where something uploads, reports or moves it.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html#saving-resuming
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Applicability, Severity, Witness
from verifygate.sources.byte_patterns import whole
from verifygate.static.amp.roles import ScalerOrigin
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.facts.checkpoints import keeps_all_states
from verifygate.static.facts.scaler_states import Evidence
from verifygate.static.facts.scalers_beside import ScalersBeside
from verifygate.static.idioms.framework_checkpoints import checkpoints_past_frameworks
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_none, walk

_KEEPS = (
    r"torch\.load|load_state_dict|opt\w*(?:\(\)|\[\w+\])?\.state_dict|Checkpointer\(|\bCheckpoint(?:Manager)?\("
    r"|(?:heck_?point|ckpt)\w*\.(?:add|register)"
)
RULE = Rule(
    code="AMP302",
    name="scaler-not-checkpointed",
    severity=Severity.MEDIUM,
    summary="a checkpoint keeps the optimizer's state and not the scaler's",
    remedy="save `scaler.state_dict()` beside the optimizer's, and load it on resuming",
    words=("GradScaler", "NativeScaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    beside=("optim", _KEEPS),
    proof="scale-trace",
)

_TEMPORARY = r"\bTemporaryDirectory\(|\b(Named|Spooled)?TemporaryFile\("
_TAKES_ELSEWHERE = r"(?i)artifact|upload|report|from_directory|add_(?:file|dir)|push|copy|move|replace|rename"
_ASKS_FOR_AMP = r"(?i)amp\b|amp_|_amp|fp16|half|scaler|precision|float|dtype"
_TESTS = r"(^|/)(tests?/|test_[^/]*$|[^/]*_test\.py$|conftest)"


def check(analysis: Analysis) -> Iterable[Match]:
    """States of optimizers that are saved, or loaded, without the scaler's."""
    yield from checkpoints_past_frameworks(analysis)
    scalers = [each for each in analysis.scaler_allocations if not each.off and not re.search(_TESTS, each.place.path)]
    steps = any(call.method in ("scale", "step") for call in analysis.scaler_calls)
    if not (steps or any(each.steps for each in scalers)):
        return  # a scaler that nothing uses has no state worth keeping
    checkpoints = analysis.checkpoints
    loaded_in = {place.path for place in checkpoints.restored}
    alone = set(checkpoints.saved_alone)
    beside = ScalersBeside(scalers, analysis.call_graph, analysis.import_graph, analysis.program.sources, _TESTS)
    for place in (*checkpoints.saved, *checkpoints.saved_alone):
        if _is_thrown_away(place) or _is_without_optimizer(place, analysis):
            continue
        if _is_given_scaler(place.function, analysis):
            continue
        for each in beside.of(place):
            if place in alone and loaded_in.isdisjoint(each.files):
                continue  # kept to look at, as it seems: nothing resumes
            kept = checkpoints.scaler_saved(each.files)
            if kept is not None and not kept.sure:
                _gave_up(place, kept, analysis)
                break
            if kept is None:
                yield Match(
                    place,
                    f"`{statement_text(place)}` is kept for resuming, the state of the scaler is not",
                    certain=each.together and not loaded_in.isdisjoint(each.files),
                    steps=((each.scaler.place, "the scaler"), (place, "the checkpoint")),
                )
                break
    saved_in = {place.path for place in checkpoints.saved}
    for place in checkpoints.restored:
        for each in beside.of(place):
            kept = None if saved_in.isdisjoint(each.files) else checkpoints.scaler_saved(each.files)
            if kept is None or not kept.sure:
                continue
            loaded = checkpoints.scaler_restored(each.files)
            if loaded is not None and not loaded.sure:
                _gave_up(place, loaded, analysis)
                break
            if loaded is None:
                yield Match(
                    place,
                    f"`{statement_text(place)}` resumes the optimizer; the scaler's state is saved and never loaded",
                    certain=each.together,
                    steps=((each.scaler.place, "the scaler"), (place, "resuming")),
                    remedy="load the scaler's saved state beside the optimizer's",
                )
                break
    yield from _left_out(analysis)
    yield from _on_one_way_only(analysis)
    yield from _dropped(analysis)


def _gave_up(place: Location, perhaps: Evidence, analysis: Analysis) -> None:
    what = f"`{statement_text(perhaps.place)}` ({perhaps.place.path}:{perhaps.place.line})"
    analysis.gave_up(place, f"whether {what} is the scaler's state beside this optimizer's cannot be told", RULE.code)


def _on_one_way_only(analysis: Analysis) -> Iterator[Match]:
    """Of several ways to resume in a function, one that loads the optimizer's state without the scaler's."""
    scalers = [each for each in analysis.scaler_calls if each.method == "load_state_dict"]
    for place in analysis.checkpoints.restored:
        loads = [each for each in scalers if each.function is place.function]
        if not loads or re.search(_TESTS, place.path):
            continue
        apart = [_apart(place.node, each.call, place.function, analysis) for each in loads]
        if not all(apart) or any(re.search(_ASKS_FOR_AMP, ast.unparse(arm.test)) for arm, _ in filter(None, apart)):
            continue  # the scaler's state is loaded on this way too, or there is no scaler on it
        if any(_handles_scaler(each, place, analysis) for arm in filter(None, apart) for each in _statements(*arm)):
            continue
        beside = [each for each in loads if _is_beside_another(each.call, place, analysis)]
        if beside:
            yield Match(
                place,
                f"`{statement_text(place)}` resumes the optimizer; the scaler's state is loaded on another way only",
                certain=False,
                steps=((beside[0].place, "the other way"), (place, "resuming")),
                remedy="load the scaler's saved state beside the optimizer's on each way",
            )


def _handles_scaler(statement: ast.stmt, place: Location, analysis: Analysis) -> bool:
    frame = analysis.evaluator.root_frame(place.function)
    return any(
        isinstance(node, ast.Name | ast.Attribute) and analysis.roles.scaler(node, frame) is not None
        for node in walk(statement)
    )


def _apart(one: ast.AST, other: ast.AST, function: Function, analysis: Analysis) -> tuple[ast.If, str] | None:
    """The `if` of which two nodes stand in different arms, and the arm of the first; None where both may run."""
    arms = {each.node: each.part for each in analysis.enclosing.around(other, function)}
    for each in analysis.enclosing.around(one, function):
        if isinstance(each.node, ast.If) and arms.get(each.node, each.part) != each.part:
            return each.node, each.part
    return None


def _statements(branch: ast.If, part: str) -> list[ast.stmt]:
    return branch.body if part == "body" else branch.orelse


def _is_beside_another(load: ast.Call, place: Location, analysis: Analysis) -> bool:
    """Whether another optimizer's state is loaded where a scaler's is: that way resumes as well."""
    return any(
        each.function is place.function
        and each.node is not place.node
        and _apart(each.node, load, place.function, analysis) is None
        and _apart(each.node, place.node, place.function, analysis) is not None
        for each in analysis.checkpoints.restored
    )


def _dropped(analysis: Analysis) -> Iterator[Match]:
    """A wrapper whose `state_dict` is its scaler's, and whose `load_state_dict` does nothing with what it is given."""
    for call in analysis.scaler_calls:
        wraps = call.function.owner if call.method == "state_dict" and call.function.name == "state_dict" else None
        load = wraps.methods.get("load_state_dict") if wraps else None
        if load is None or isinstance(load.node, ast.Module | ast.Lambda) or re.search(_TESTS, call.place.path):
            continue
        given = {each.arg for each in load.node.args.args[1:]}
        read = any(isinstance(node, ast.Name) and node.id in given for node in load.own_nodes)
        if given and not read and not any(isinstance(node, ast.Call | ast.Raise) for node in load.own_nodes):
            place = Location(load, load.node)
            yield Match(
                place,
                "the scaler's state is given out, and what is given to load is dropped",
                certain=False,
                steps=((call.place, "the scaler's state"), (place, "loading")),
                remedy="hand the state on: `self.scaler.load_state_dict(state)`",
            )


def _left_out(analysis: Analysis) -> Iterator[Match]:
    """One of the scalers that step in a function: its state is left out where another's is saved or loaded."""
    calls = [each for each in analysis.scaler_calls if each.is_certain and each.scaler.origin]
    calls = [each for each in calls if not re.search(_TESTS, each.place.path)]
    by_scaler: dict[tuple[str, ScalerOrigin | None], list[ScalerCall]] = {}
    for each in calls:
        by_scaler.setdefault((each.method, each.scaler.origin), []).append(each)
    for one, other in _that_step_together([each for each in calls if each.method == "step"]):
        for method, done in (("state_dict", "kept"), ("load_state_dict", "loaded")):
            beside = by_scaler.get((method, one.scaler.origin))
            if not beside or _is_named(last_name(other.receiver), method, beside, analysis):
                continue
            yield Match(
                beside[0].place,
                f"the state of `{ast.unparse(one.receiver)}` is {done}, that of `{ast.unparse(other.receiver)}` is not",
                certain=False,
                steps=((other.place, "the other scaler's step"), (beside[0].place, f"what is {done}")),
                remedy="treat the states of all scalers alike",
            )
            break


def _that_step_together(steps: list[ScalerCall]) -> Iterator[tuple[ScalerCall, ScalerCall]]:
    """Each scaler that steps, by its last step, with each other one that steps in the same function."""
    last = {each.scaler.origin: each for each in steps}
    order = {origin: number for number, origin in enumerate(last)}
    stepping: dict[Function, set[ScalerOrigin | None]] = {}
    for each in steps:
        stepping.setdefault(each.function, set()).add(each.scaler.origin)
    for origin, one in last.items():
        others = stepping[one.function] - {origin}
        yield from ((one, last[each]) for each in sorted(others, key=lambda other: order[other]))


def _is_named(scaler: str, method: str, beside: list[ScalerCall], analysis: Analysis) -> bool:
    """Whether a scaler's name stands in a function that keeps another's state, or any file asks for its own."""
    if any(re.search(whole(scaler), ast.unparse(each.function.node)) for each in beside):
        return True
    asked = re.compile(rf"{whole(scaler)}\.{method}\b".encode())
    files = analysis.import_graph.together(beside[0].place.path)
    return any(asked.search(file.data) for file in analysis.program.sources.each(set(files)))


def _is_thrown_away(place: Location) -> bool:
    """Whether the file is gone when the function ends, and nothing has taken it elsewhere: nothing resumes from it."""
    around = (node for node in place.function.withs if node.lineno <= place.line <= (node.end_lineno or 0))
    return any(
        re.search(_TEMPORARY, ast.unparse(item.context_expr)) and not _is_handed_on(item, node, place.line)
        for node in around
        for item in node.items
    )


def _is_handed_on(item: ast.withitem, block: ast.With | ast.AsyncWith, line: int) -> bool:
    """Whether something behind a line uploads, reports or moves what lies in a temporary folder."""
    inside = [node for statement in block.body for node in walk(statement)]
    lies_in = {node.id for node in walk(item.optional_vars or item.context_expr) if isinstance(node, ast.Name)}
    for node in inside:
        if isinstance(node, ast.Assign) and lies_in & _names(node.value):
            lies_in |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return any(
        isinstance(node, ast.Call)
        and node.lineno > line
        and re.search(_TAKES_ELSEWHERE, last_name(node.func))
        and any(lies_in & _names(given) for given in (*node.args, *(word.value for word in node.keywords)))
        for node in inside
    )


def _names(expr: ast.expr) -> set[str]:
    return {node.id for node in walk(expr) if isinstance(node, ast.Name)}


def _is_without_optimizer(place: Location, analysis: Analysis) -> bool:
    """Whether the state is that of a parameter for which every call gives None: it is never kept."""
    match place.node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            given = [each.arguments.get(name) for _, each in analysis.call_graph.entries(place.function)]
            default = place.function.default(name)
            return bool(given) and all(is_none(default if each is None else each.expr) for each in given)
    return False


def _is_given_scaler(function: Function, analysis: Analysis) -> bool:
    """Whether calls give it a scaler, under whatever name, and it keeps the state of all that it is given."""
    if not keeps_all_states(function):
        return False
    return any(
        analysis.roles.scaler(bound.expr, bound.frame) is not None
        for _, entered in analysis.call_graph.entries(function)
        for bound in entered.arguments.values()
    )

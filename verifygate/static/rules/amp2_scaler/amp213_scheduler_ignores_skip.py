"""A schedule that goes step by step advances although the scaler skipped the step.

## What it does
Reports

- a scheduler that steps next to `scaler.step(optimizer)` in every iteration without a condition on the scale;
- one that steps before it;
- one that steps only if the scale has not changed, so that it also waits when the scale grew;
- one that Accelerate, Fabric or Lightning was not given, beside a step that goes through the framework's scaler.

Schedules per epoch are not reported, nor are schedules that are reached only where a norm of the gradients is finite,
which leaves nothing to skip, and neither are functions that use `get_scale()` in another way or count skips. A
schedule that is passed the number of the batch (`step_batch(n)`) is reported only before the step.

## Impact
The learning rate runs ahead of the weights by one step for each skipped one, and warmup is shorter than written.

## Why is this bad
The scaler skips a step when a gradient is inf, a few times at the start of nearly every run, while it looks for its
scale. The schedule goes on: warmup is shorter than written, and the learning rate is ahead of the weights.

## What happens at run time
Silent but for the first step, where torch warns ``Detected call of `lr_scheduler.step()` before `optimizer.step()` ``
(torch 2.13); with a fused optimizer even that is silent.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        schedule.step()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            schedule.step()
```

## Fix safety
No automatic fix: the condition on the scale needs a place of its own.

## What it cannot see
Schedulers that step further from the optimizer than in the caller of the method that steps it, except for hooks at the
end of a step. Schedulers that are passed the step count. Of Accelerate, Fabric and Lightning, schedules that cannot be
followed to torch's constructor.

## References
- https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

import ast
import re
from collections.abc import Iterator, Sequence

from verifygate.model import Severity, Witness
from verifygate.naming import names_a_schedule
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.finite_gradients import runs_on_finite_gradients
from verifygate.static.idioms.framework_schedules import schedules_past_frameworks
from verifygate.static.idioms.lr_schedules import PER_BATCH, steps_a_schedule
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.enclosing import Loop
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_number, walk

_HOOK = (
    r"after_(?:train(?:ing)?_)?(?:step|iter(?:ation)?|batch)|on_(?:train(?:ing)?_)?(?:step|iter(?:ation)?|batch)_end"
)
"""Methods by which frameworks, and those of the project's own, tell that a step is over."""

RULE = Rule(
    code="AMP213",
    name="scheduler-ignores-skip",
    severity=Severity.LOW,
    summary="a per-step schedule advances when the scaler skipped the step",
    remedy="step the scheduler after `scaler.update()`, and only where the scale did not shrink",
    words=("GradScaler", "unscale_", "scaler"),
    beside=(rf"def (?:{_HOOK})\(", r"sched\w*(?:\[.*\])?\.step\("),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="warning-seen",
)

# a skip is asked for after the step: what is skipped before it (batches at a restart, a loss of NaN) is another
_ASKS = r"(?i)found_inf|overflow|was_run|step_taken|_step_count"
_A_SCALE = r"(?i)(?<!^get)(?<!^)_scale\b"
_WAYS_OUT = (ast.Continue, ast.Break, ast.Return, ast.Raise)
_EPOCH = r"(?i)(?<!per_)epoch"
_LEVELS = 2
"""Calls from a step up to the schedule: of a method that steps, and of a function that does so for one batch."""
_BATCHES = r"(?i)step|iter|batch|update|loader"


def looks_beside(analysis: Analysis) -> bool:
    """Hooks matter where a scaler steps, or a framework may."""
    return any(call.method == "step" for call in analysis.scaler_calls) or bool(analysis.frameworks.instances)


def check(analysis: Analysis) -> Iterator[Match]:
    """Schedulers in the same iteration as the scaler's step, or as a call of the method that steps."""
    steps: dict[Function, list[ScalerCall]] = {}
    for call in analysis.scaler_calls:
        if call.method == "step" and call.optimizer is not None:
            steps.setdefault(call.function, []).append(call)
    for function, own in steps.items():
        yield from _in_function(function, own, (), analysis)
    level, inside = steps, {function: [function] for function in steps}
    for _ in range(_LEVELS):
        level = _above(level, inside, analysis)
        for function, calls in level.items():
            yield from _in_function(function, calls, inside[function][1:], analysis)
    if looks_beside(analysis):
        yield from _in_hooks(analysis)
    yield from schedules_past_frameworks(analysis)


def _in_hooks(analysis: Analysis) -> Iterator[Match]:
    """Schedules that a hook for the end of each step advances, in a program whose trainer steps by a scaler."""
    steps = [call for call in analysis.scaler_calls if call.method == "step" and call.function.owner is not None]
    stepping = {call.function for call in steps}  # a hook that steps as well has its schedules beside its own step
    for function in analysis.functions:
        if function in stepping or not re.fullmatch(_HOOK, function.name):
            continue
        if function.owner is None or not _is_hook(function.owner, analysis):
            continue
        asks = any(re.search(_ASKS, name) or "get_scale" in name for name, _ in _names(function))
        asks = asks or _asks_a_scale(function)
        scaled = next((step for step in steps if _in_one_program(step, function, analysis)), None)
        if asks or scaled is None:
            continue
        for node in function.calls:
            if steps_a_schedule(node, function, analysis):
                place = Location(function, node)
                message = f"`{statement_text(place)}` advances the schedule also where the scaler skipped the step"
                steps_shown = ((scaled.place, "the scaler's step"), (place, "the hook"))
                yield Match(place, message, certain=False, steps=steps_shown)


def _is_hook(made: Class, analysis: Analysis) -> bool:
    bases = [base for each in analysis.evaluator.linearised(made) for base in each.node.bases]
    return any(re.search(r"Hook|Callback|Plugin", last_name(base)) for base in bases)


def _in_one_program(step: ScalerCall, function: Function, analysis: Analysis) -> bool:
    path = function.module.path
    return step.function.owner is not function.owner and any(
        path in files for files in analysis.import_graph.programs(step.function.module.path)
    )


def _above(
    level: dict[Function, list[ScalerCall]], inside: dict[Function, list[Function]], analysis: Analysis
) -> dict[Function, list[ScalerCall]]:
    """The functions that call some that step, with the calls in the place of the steps; `inside` is completed."""
    found: dict[Function, list[ScalerCall]] = {}
    for function, own in level.items():
        for call in _calls_of(function, own[0], analysis):
            if call.function not in inside or call.function in found:
                found.setdefault(call.function, []).append(call)
                inside.setdefault(call.function, [call.function]).extend(inside[function])
    return found


def _calls_of(function: Function, step: ScalerCall, analysis: Analysis) -> Iterator[ScalerCall]:
    """The calls of a function or a method that steps, in the place of the step."""
    for site in analysis.call_graph.sites(function):
        if not _turns(step.call, _stepped(step), function, analysis):
            frame = analysis.evaluator.root_frame(site.caller)
            yield ScalerCall(site.call, _called_on(site.call), "call", step.scaler, site.caller, frame)


def _stepped(step: ScalerCall) -> ast.expr | None:
    """The optimizer of a step; a function that steps may be given the batch first."""
    return step.optimizer if step.method == "step" else None


def _called_on(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _in_function(
    function: Function, steps: list[ScalerCall], stepping: Sequence[Function], analysis: Analysis
) -> Iterator[Match]:
    """Schedulers of a function beside steps: its own, or those of the methods that it calls for them."""
    first = min(call.call.lineno for call in steps)
    asks = any(re.search(_ASKS, name) for each in (function, *stepping) for name, _ in _names(each))
    asks = asks or any("skip" in name.lower() for name, line in _names(function) if line >= first)
    asks = asks or any("skip" in name.lower() for each in stepping for name, _ in _names(each))
    asks = asks or any(_compares_scales(each) or _asks_a_scale(each) for each in (function, *stepping))
    for node in function.calls:
        if not steps_a_schedule(node, function, analysis) and (asks or not _only_schedules(node, function, analysis)):
            continue
        if not asks or not _may_be_led_past(node, function, steps, analysis):
            yield from _beside(node, function, steps, analysis, sure=not stepping)
        elif not stepping:
            yield from _beside(node, function, steps, analysis, sure=True, only_before=True)
            yield from _waits_for_the_same_scale(node, function, analysis)


def _beside(
    node: ast.Call,
    function: Function,
    steps: list[ScalerCall],
    analysis: Analysis,
    *,
    sure: bool,
    only_before: bool = False,
) -> Iterator[Match]:
    """A schedule in the same iteration as a step; where skips are asked about, only one that goes before the step."""
    loops = _turns(node, node.func.value, function, analysis)  # type: ignore[attr-defined]
    place = Location(function, node)
    beside = [
        call
        for call in steps
        if _in_one_turn(loops, call, analysis) and analysis.path_conditions.agree(place, call.place)
    ]
    if not beside or not (loops or function.symbol):
        return
    along = [call for call in beside if _in_one_block(node, call, analysis)]
    before = bool(along) and all(node.lineno < call.call.lineno for call in along)
    if not before and runs_on_finite_gradients(node, function, analysis):
        return  # with finite gradients the scaler skips nothing
    told = last_name(node.func) in PER_BATCH
    if before or not (told or only_before):
        how = "before the optimizer does" if before else "also where the scaler skipped the optimizer's step"
        yield Match(
            place, f"`{statement_text(place)}` advances the schedule {how}", certain=sure and before and not told
        )


def _turns(node: ast.Call, subject: ast.expr | None, function: Function, analysis: Analysis) -> list[Loop]:
    """The loops around a step, innermost first, without the one that goes over the objects that are stepped."""
    stepped = subject.id if isinstance(subject, ast.Name) else ""
    return [
        loop
        for loop in analysis.enclosing.loops(node, function)
        if isinstance(loop, ast.While)
        or not any(isinstance(each, ast.Name) and each.id == stepped for each in walk(loop.target))
    ]


def _in_one_turn(loops: list[Loop], step: ScalerCall, analysis: Analysis) -> bool:
    """Whether each iteration of the loops runs the scaler's step, once or once for each of several objectives."""
    around = _turns(step.call, _stepped(step), step.function, analysis)
    while len(loops) > len(around) and _repeats(loops[0]):
        loops = loops[1:]
    inner = around[: len(around) - len(loops)]
    if around[len(inner) :] != loops:
        return False
    return not inner or (
        bool(loops)
        and _turns_per_step(loops[0], step.function, analysis)
        and not any(_turns_per_step(loop, step.function, analysis) or _goes_over(loop, _EPOCH) for loop in inner)
    )


def _repeats(loop: Loop) -> bool:
    """`for _ in range(n)`: a schedule told of several steps at once."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"


def _turns_per_step(loop: Loop, function: Function, analysis: Analysis) -> bool:
    """Whether a loop iterates once per batch, and not per epoch: by its loader, or by what it goes over."""
    if isinstance(loop, ast.While):
        return False
    if re.search(_EPOCH, ast.unparse(loop.target)):
        return False
    return analysis.hot_loops.drawn.from_a_loader(loop, function) or _goes_over(loop, _BATCHES)


def _goes_over(loop: Loop, words: str) -> bool:
    heads = (loop.test,) if isinstance(loop, ast.While) else (loop.target, loop.iter)
    names = (last_name(node) for head in heads for node in walk(head) if isinstance(node, ast.Name | ast.Attribute))
    return any(re.search(words, name) for name in names)


def _may_be_led_past(node: ast.Call, function: Function, steps: list[ScalerCall], analysis: Analysis) -> bool:
    """Whether anything that the function asks may keep a schedule from running where a step before it does.

    Or the step is tried until it is taken.
    """
    around = analysis.enclosing.loops(node, function)
    for step in steps:
        tries = [loop for loop in analysis.enclosing.loops(step.call, function) if isinstance(loop, ast.While)]
        own, its = _conditions(node, step, analysis)
        leaves = any(
            step.call.lineno < each.lineno < node.lineno and isinstance(each.body[-1], _WAYS_OUT)
            for each in function.of_kind(ast.If)
        )
        if set(own) <= set(its) and set(tries) <= set(around) and not leaves:
            return False
    return True


def _in_one_block(node: ast.Call, step: ScalerCall, analysis: Analysis) -> bool:
    """Whether both have the same path conditions: an iteration runs both, if there is a schedule and a scaler."""
    own, its = _conditions(node, step, analysis)
    return own == its


def _conditions(node: ast.Call, step: ScalerCall, analysis: Analysis) -> tuple[list[tuple[str, bool]], ...]:
    """What decides about a schedule and a step in one function, but for whether there is a schedule and a scaler."""
    objects = [ast.unparse(_called_on(call)) for call in (node, step.call)]
    there = {*objects, *(f"{each} is not None" for each in objects)}
    kinds = tuple(f"isinstance({each}, " for each in objects)
    return tuple(
        [
            (text, holds)
            for test, holds in analysis.enclosing.conditions(call, step.function)
            if (text := ast.unparse(test)) not in there and not text.startswith(kinds)
        ]
        for call in (node, step.call)
    )


def _only_schedules(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a call runs a method that steps schedules whatever the scale, and nothing else."""
    if not isinstance(call.func, ast.Attribute) or not names_a_schedule(call.func.attr):
        return False
    callees = analysis.call_graph.callees(call, function)
    return bool(callees) and all(
        callee.owner is not None
        and not callee.of_kind(ast.If)
        and not (_asks_a_scale(callee) or any(re.search(_ASKS, name) for name, _ in _names(callee)))
        and bool(stepped := [each for each in callee.calls if last_name(each.func) == "step"])
        and all(steps_a_schedule(each, callee, analysis) for each in stepped)
        for callee in callees
    )


def _waits_for_the_same_scale(node: ast.Call, function: Function, analysis: Analysis) -> Iterator[Match]:
    """A step of a schedule behind a comparison by which a scale that grew is a step that was skipped."""
    for test, _ in analysis.enclosing.conditions(node, function):
        for part in walk(test):
            bindings = function.scope.names.get(part.id, []) if isinstance(part, ast.Name) else []
            for found in (part, *(binding.expr for binding in bindings)):
                if isinstance(found, ast.Compare) and _asks_for_the_same_scale(found, function):
                    place = Location(function, found)
                    text = statement_text(place)
                    message = f"`{text}` holds the schedule back also where the scale grew: only a lower one was a skip"
                    yield Match(
                        place, message, certain=False, steps=((place, "asked"), (Location(function, node), "step"))
                    )
                    return


def _asks_for_the_same_scale(test: ast.Compare, function: Function) -> bool:
    """`scaler.get_scale() != before`, or `==`, where `before` is an earlier scale."""
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return False
    sides = (test.left, test.comparators[0])
    bound = [
        binding.expr
        for side in sides
        if isinstance(side, ast.Name)
        for binding in function.scope.names.get(side.id, ())
        if binding.kind == "value"
    ]
    now = [side for side in (*sides, *bound) if isinstance(side, ast.Call) and last_name(side.func) == "get_scale"]
    return len(now) >= 2


def _compares_scales(function: Function) -> bool:
    """Whether a scale is asked for and compared, in place or by a name.

    One that is only logged tells of no skip, nor does one that is held against a number.
    """
    reads: list[ast.expr] = [node for node in function.calls if last_name(node.func) == "get_scale"]
    reads += [node for node in function.of_kind(ast.Attribute) if node.attr == "_scale"]
    if not reads:
        return False
    kept = {
        name
        for name, bindings in function.scope.names.items()
        if any(binding.expr is not None and set(walk(binding.expr)).intersection(reads) for binding in bindings)
    }
    tests = (test for test in function.of_kind(ast.Compare) if not any(map(is_number, (test.left, *test.comparators))))
    compared = (node for test in tests for node in walk(test))
    return any(node in reads or (isinstance(node, ast.Name) and node.id in kept) for node in compared)


def _asks_a_scale(function: Function) -> bool:
    """Whether a scale that goes by its name is compared, or bound: `multi_scale` that is only read is another."""
    compared = (node for test in function.of_kind(ast.Compare) for node in walk(test))
    bound = (node for node in function.own_nodes if isinstance(getattr(node, "ctx", None), ast.Store))
    return any(
        isinstance(node, ast.Name | ast.Attribute) and re.search(_A_SCALE, last_name(node))
        for node in (*compared, *bound)
    )


def _names(function: Function) -> Iterator[tuple[str, int]]:
    """The names in a function, each with its line."""
    for node in function.own_nodes:
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Name):
            yield node.id, node.lineno

"""`update()` stands where the window is not over, or where nothing was recorded in it.

## What it does
Reports an `update()` between a backward and the step that uses its gradients, between two optimizers that share a
backward, on every micro-batch of an accumulation, and an `update()` of a window in which the scaler was asked neither
to unscale nor to step. `update(new_scale)` is left alone, as are full cycles one after the other (a GAN's two
networks). Where the window records nothing because its step went past the scaler, that step is the fault, and AMP207
alone tells of it.

## Impact
An update is two times too large or too small when the scale moves, 65,536 times too small if it comes after
`unscale_`, or the run stops with an AssertionError.

## Why is this bad
The scale belongs to the window: gradients made under one scale must be divided by the same one. After `update()` the
scale may have changed, and a later step divides by the new one, so one overflow or one growth makes an update two
times too large or too small. The record of inf is emptied too, so the next step is judged by nothing.

## What happens at run time
Raises `AssertionError: No inf checks were recorded prior to update.` where nothing was recorded (torch 2.13). Between
two optimizers, and with `unscale_` before it, it is silent: the second optimizer's gradients are divided by a scale
that they were not multiplied with. Between `unscale_` and the step the scaler forgets that it has divided: the step
divides again, so the update is 65,536 times too small, and the next `unscale_` raises.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0 or number == len(batches):
            scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        scaler.update()
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
No automatic fix: it is unknown where the window should end.

## What it cannot see
Optimizers that are stepped out of sight. Which of several optimizers a backward is for is not known: an `update()`
between two steps is reported only where no backward comes between it and the second step. Where the backward is out of
sight, an `update()` in every iteration of a loop over optimizers is only likely.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers
"""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from verifygate.base.records import replace
from verifygate.model import Severity, Witness
from verifygate.protocol import Event
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.lowering.optimizer_loops import Loop, iterated_collections
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.rule import Match, ProtocolMatch, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="AMP210",
    name="misplaced-update",
    severity=Severity.HIGH,
    summary="update() before the window is over, or with nothing recorded in it",
    remedy="call `scaler.update()` once per window, after the last step that uses its gradients",
    words=("GradScaler", "unscale_", "scaler"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

_by_protocol = ProtocolMatch(
    RULE, "`{text}` may change the scale while gradients wait for their step, or has none to go by"
)
_RECORDS = frozenset({Event.UNSCALE, Event.SCALER_STEP})
_MAKES_GRADIENTS = r"(?i)backward|loss|forward|closure|train|compute|scale$"


def check(analysis: Analysis) -> Iterable[Match]:
    """Every update out of place; not one that records nothing because AMP207's step went past the scaler."""
    past = analysis.violations("AMP207")
    met: set[ast.AST] = set()
    for report in analysis.violations(RULE.code):
        known = {each.place for each in past if each.certain or not report.certain}
        met.add(report.place.node)
        if report.place != report.shown_at or not _steps_of_the_window(report) & known:
            yield _with_nothing_recorded(report) or _by_protocol.match(report)
    for call in analysis.scaler_calls:
        if call.method == "update" and call.call not in met and not call.call.args:
            yield from _in_every_turn(call, analysis)


def _with_nothing_recorded(report: ViolationReport) -> Match | None:
    """An update that is told why it raises: behind a hand-written check for inf, say, that leads past the step."""
    if report.place != report.shown_at or not _RECORDS.isdisjoint(event for _, event in _of_the_window(report)):
        return None
    return replace(
        _by_protocol.match(report),
        message=f"`{statement_text(report.place)}` has no inf check to go by: since the last update, nothing on this "
        "way was unscaled or stepped",
    )


def _in_every_turn(update: ScalerCall, analysis: Analysis) -> Iterator[Match]:
    """An update after each step of a loop over optimizers whose gradients are made elsewhere, before it."""
    loops = analysis.enclosing.loops(update.call, update.function)
    if not loops or not isinstance(loop := loops[0], Loop) or not _goes_over_optimizers(loop, update, analysis):
        return
    held = set(analysis.enclosing.conditions(update.call, update.function))
    receiver = ast.unparse(update.receiver)
    for step in analysis.scaler_calls_in[update.function]:
        beside = step.method == "step" and ast.unparse(step.receiver) == receiver
        if (
            beside
            and analysis.enclosing.loops(step.call, step.function)[:1] == [loop]
            and step.call.lineno < update.call.lineno
            and held.issubset(analysis.enclosing.conditions(step.call, step.function))
        ):
            message = "every optimizer of the loop but the first steps with gradients of the scale before this update"
            yield Match(update.place, message, certain=False, steps=((step.place, "the step in the same turn"),))
            return


def _goes_over_optimizers(loop: Loop, update: ScalerCall, analysis: Analysis) -> bool:
    """Whether each iteration is about one of several optimizers, and makes no gradients of its own."""
    written = loop.iter.elts if isinstance(loop.iter, ast.Tuple | ast.List) else None
    if (written is not None and len(written) < 2) or not iterated_collections(loop, update.frame, analysis.roles):
        return False
    calls = (node for statement in loop.body for node in walk(statement) if isinstance(node, ast.Call))
    return not any(re.search(_MAKES_GRADIENTS, last_name(call.func)) for call in calls)


def _steps_of_the_window(report: ViolationReport) -> set[Location]:
    """What happened, and what was called, between the update before and this one."""
    return {place for place, _ in _of_the_window(report)}


def _of_the_window(report: ViolationReport) -> Iterator[tuple[Location, str]]:
    *before, _ = report.path
    return takewhile(lambda step: step[1] != Event.UPDATE, reversed(before))

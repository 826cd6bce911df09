"""An accumulation ends within a window: no step uses the gradients of the last micro-batches.

## What it does
Reports `if (i + 1) % n == 0` around the step in a loop over a loader, where no path from the end of the loop leads to a
step before the next backward. Where the batches are counted from the beginning in each epoch, the last gradients are
thrown away by the `zero_grad` with which the next epoch begins, or else added to those of its first window. A count
that goes on from epoch to epoch leaves no short window: it is reported only where a `zero_grad` throws one away.

## Impact
The last micro-batches of each epoch train nothing, or go into the first step of the next epoch: of 8 batches in
windows of 3, two steps were made instead of three.

## Why is this bad
Up to `n - 1` batches of each epoch are computed for nothing, or the first step of the next epoch is made with the
gradients of up to twice as many batches as the loss was divided by. A loader shorter than `n` never trains at all.

## What happens at run time
Silent (torch 2.13, CPU): of 8 batches in windows of 3, two steps were made instead of three.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    optimizer.zero_grad(set_to_none=True)
    for number, (inputs, targets) in enumerate(batches):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 3
        scaler.scale(loss).backward()
        if (number + 1) % 3 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    optimizer.zero_grad(set_to_none=True)
    for number, (inputs, targets) in enumerate(batches):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 3
        scaler.scale(loss).backward()
        if (number + 1) % 3 == 0 or number + 1 == len(batches):
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Fix safety
No automatic fix: whether the last window should be stepped, left out or carried on, only the author knows; and a step
for it changes how many steps the LR schedule sees.

## What it cannot see
How many batches a loader has: where that is always a multiple of `n`, nothing is lost. A `drop_last=True`, a number of
iterations that is made of `n` and a condition behind the loop on what is left over silence it. Windows that a counter
closes by another comparison than a remainder; optimizers, where a loss is not seen to be about one of several. Where a
function that nothing in sight calls may step at the end of an epoch, it says that it cannot tell.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.data_loaders import DATA_LOADERS, Loader
from verifygate.static.idioms.iteration_counts import integer, is_multiple_of, iteration_count
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.paths.open_windows import Fate
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Frame

RULE = Rule(
    code="AMP221",
    name="window-left-open",
    severity=Severity.LOW,
    summary="gradients accumulated in the last, short window of an epoch, which no step uses",
    remedy="step in the last iteration as well: `if (i + 1) % n == 0 or i + 1 == len(loader)`",
    words=("GradScaler", "unscale_", "scaler"),
    proof="update-norm",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """The windows that are left open, but for loops whose iterations surely fill them."""
    for report in analysis.violations(RULE.code):
        if _is_full(report, analysis):
            continue
        if flush := _flush_elsewhere(report, analysis):
            reason = f"`{statement_text(flush)}` may step with what `{statement_text(report.place)}` leaves over"
            analysis.gave_up(flush, reason, RULE.code)
            continue
        yield Match(
            report.place,
            _message(report),
            certain=False,
            steps=report.path,
            assumes=report.assumes,
            settling=report.settling,
        )


def _message(report: ViolationReport) -> str:
    text = statement_text(report.place)
    if report.kind is Fate.LOST:
        return (
            f"where `{text}` leaves micro-batches over at the end of an epoch, `zero_grad` throws their gradients away"
        )
    return f"what `{text}` leaves over at the end of an epoch is added to the first window of the next one"


def _flush_elsewhere(report: ViolationReport, analysis: Analysis) -> Location | None:
    """A function that steps the same optimizer and derives nothing: in the caller of the loop, or called by nobody.

    A framework may call it at the end of an epoch.
    """
    sites = analysis.call_graph.sites
    steps = [
        call.place
        for call in analysis.scaler_calls
        if call.method == "step" and call.optimizer is not None
        if analysis.roles.object(call.optimizer, call.frame) == report.optimizer
    ]
    loop = report.shown_at.function
    stepping = [step.function for step in steps if step.function is not loop]
    steps += [Location(site.caller, site.call) for each in stepping for site in sites(each)]
    callers = {site.caller for site in sites(loop)}
    own = {place.function for place, _ in report.path}
    for step in steps:
        if step.function in own or any(_derives(node) for node in step.function.of_kind(ast.Attribute)):
            continue
        if step.function in callers or not sites(step.function):
            return step
    return None


def _derives(node: ast.Attribute) -> bool:
    return node.attr in ("scale", "backward")


def _is_full(report: ViolationReport, analysis: Analysis) -> bool:
    """Whether a loop is known to leave no batches over: by its loader, or by how many of them it takes."""
    loop = report.shown_at
    assert isinstance(loop.node, ast.For | ast.AsyncFor)  # noqa: S101 - what an open window is of
    frames = [frame for _, frame in analysis.call_graph.entries(loop.function)]
    frames = frames or [analysis.evaluator.root_frame(loop.function)]
    length = _length(report.place.node)
    if length is not None and is_multiple_of(loop.node.iter, length):
        return True
    return all(_fills(loop.node.iter, length, frame, analysis) for frame in frames)


def _length(closes: ast.AST) -> ast.expr | None:
    """The n of `(i + 1) % n == 0`."""
    return next((n.right for n in walk(closes) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)), None)


def _fills(iterated: ast.expr, length: ast.expr | None, frame: Frame, analysis: Analysis) -> bool:
    drawn = (part for part in walk(iterated) if isinstance(part, ast.Name | ast.Attribute | ast.Call))
    values = (value for part in drawn for value in analysis.evaluator.values(part, frame))
    if any(isinstance(value, ExternalResult) and _drops(value, analysis) for value in values):
        return True
    window = integer(length, frame, analysis) if length is not None else None
    count = iteration_count(iterated, frame, analysis) if window is not None else None
    return window == 1 or bool(window and count is not None and count % window == 0)


def _drops(value: ExternalResult, analysis: Analysis) -> bool:
    """Whether something is a loader that leaves out the rest of its data, or never ends."""
    if value.name == "itertools.cycle":
        return True
    if value.name not in DATA_LOADERS or not value.calls:
        return False
    call, frame = value.calls[-1]
    return Loader(call, frame, frame.function, analysis).constant("drop_last", default=False) is True

"""Gradients are never zeroed, or zeroed where they are still needed.

## What it does
Reports

- a backward that adds to gradients which a step has already used, if nothing zeroes them; also where a `zero_grad` once
  an epoch is all there is, and the windows of `(i + 1) % n == 0` follow each other within it;
- gradients that the loss of one network leaves in another one that it goes through, if that one's optimizer steps on
  them: a generator's in the discriminator (likely at most, and not where parameters are frozen for a while);
- a `zero_grad` between a backward and its `unscale_` or step;
- a `zero_grad` on every micro-batch of an accumulation, so that only the last micro-batch counts; also one that comes
  before the backward in `with accelerator.accumulate(model)` of an Accelerator that accumulates: the prepared
  optimizer's works in the last micro-batch only, and there it wipes what the others gave.

`model.zero_grad()`, `p.grad = None` and `p.grad.zero_()` are zeroing too. The rest of an epoch and a bad batch may be
discarded.

## Impact
Old gradients are added to new ones, or the step finds none: the run learns from the wrong batches, or stops.

## Why is this bad
Gradients add up. Left over, they are unscaled ones that the next window's `unscale_` divides again, together with new
ones. Zeroed too early, they are gone: the step does nothing, or uses one micro-batch and a learning rate meant for
all.

## What happens at run time
Silent when left over or wiped within an accumulation (torch 2.13, CPU). Between backward and step the scaler raises
`AssertionError: No inf checks were recorded for this optimizer.`, or does a step with zeros if `set_to_none=False`.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for number, (inputs, targets) in enumerate(batches, 1):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        scaler.scale(loss).backward()
        if number % 2 == 0:
            scaler.step(optimizer)
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
No automatic fix: it is unknown where the window should begin.

## What it cannot see
Gradients zeroed by means that it cannot follow silence it, as do several optimizers where the source does not show
whose parameters a loss reaches. An accumulation is known by its condition, a remainder (`%`) or a name that says so, or
by a loop behind which the step comes (likely at most). One that is set to a single micro-batch is none.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.half_weights import takes_copied
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import ExternalResult, Frame, Literal

RULE = Rule(
    code="AMP212",
    name="zero-grad-misplaced",
    severity=Severity.HIGH,
    summary="gradients never zeroed, or zeroed before a step has used them",
    remedy="zero the gradients once per window, after `scaler.update()` or before the first backward",
    words=("GradScaler", "unscale_", "scaler", ".accumulate("),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="final-weights",
)

_TIMES = r"(?i)bench|speed|profil|throughput"
"""Functions that run steps to take their time: nobody keeps what these train."""


def check(analysis: Analysis) -> Iterator[Match]:
    """The violations of the table that bear this code, each worded after what shows it."""
    for report in analysis.violations(RULE.code):
        if _steps_copies(report, analysis):
            analysis.gave_up(report.place, "gradients of copies, such as float32 masters, are set by hand", RULE.code)
            continue
        text = statement_text(report.place)
        only_timed = re.search(_TIMES, report.place.function.name) is not None
        assumes = report.assumes or ("what it trains is kept" if only_timed else "")
        yield Match(
            report.place,
            _message(report, text),
            certain=not assumes,
            steps=report.path,
            assumes=assumes,
            settling=report.settling,
        )
    for function in analysis.functions if any(m.mentions(b".accumulate(") for m in analysis.modules) else ():
        for block in function.withs:
            for item in block.items:
                if (certain := _accumulates(item.context_expr, function, analysis)) is not None:
                    yield from _zeroed_first(block, certain, function, analysis)


def _steps_copies(report: ViolationReport, analysis: Analysis) -> bool:
    """Whether the optimizer steps copies of the parameters that a backward reaches."""
    steps = ((place.node, place.function) for place, _ in (*report.path, (report.shown_at, "")))
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) in ("unscale_", "step")
        and bool(node.args)
        and takes_copied(node.args[0], analysis.evaluator.root_frame(function), analysis)
        for node, function in steps
    )


def _accumulates(context: ast.expr, function: Function, analysis: Analysis) -> bool | None:
    """Whether a context is Accelerate's accumulation of several micro-batches: surely, perhaps (False), not (None)."""
    if not (isinstance(context, ast.Call) and isinstance(context.func, ast.Attribute)):
        return None
    if context.func.attr != "accumulate":
        return None
    values = analysis.evaluator.values(context.func.value, analysis.evaluator.root_frame(function))
    results = (value for value in values if isinstance(value, ExternalResult) and value.calls)
    made = [value.calls[-1] for value in results if value.name == "accelerate.Accelerator"]
    found = {_micro_batches(*call, analysis) for call in made}  # none for a parameter that only an annotation tells of
    if not made or found == {1}:
        return None
    return len(made) == len(values) and not found & {1, None}


def _micro_batches(call: ast.Call, frame: Frame, analysis: Analysis) -> int | None:
    """How many micro-batches an Accelerator is made to accumulate; None where that is not known."""
    words = {word.arg: word.value for word in call.keywords}
    if None in words or "gradient_accumulation_plugin" in words:
        return None
    given = words.get("gradient_accumulation_steps")
    if given is None:
        return 1
    values = analysis.evaluator.values(given, frame)
    known = [each.value for each in values if isinstance(each, Literal) and isinstance(each.value, int)]
    return known[0] if len(known) == len(values) == 1 else None


def _zeroed_first(
    block: ast.With | ast.AsyncWith, certain: bool, function: Function, analysis: Analysis
) -> Iterator[Match]:
    """Optimizers whose first call in the context is `zero_grad`, and whose step comes behind a backward in it."""
    frame = analysis.evaluator.root_frame(function)
    around = set(analysis.enclosing.conditions(block, function))
    inside = {part for statement in block.body for part in walk(statement)}
    calls = [each for each in function.calls if each in inside and isinstance(each.func, ast.Attribute)]
    calls.sort(key=lambda each: (each.lineno, each.col_offset))
    seen: set[AccessPath] = set()
    for index, call in enumerate(calls):
        receiver = call.func.value  # type: ignore[attr-defined]
        does = call.func.attr  # type: ignore[attr-defined]
        path = analysis.roles.object(receiver, frame)
        if does not in ("zero_grad", "step") or path in seen:
            continue
        seen.add(path)
        later = [each.func for each in calls[index + 1 :] if isinstance(each.func, ast.Attribute)]
        derives = next((at for at, each in enumerate(later) if each.attr == "backward"), len(later))
        steps = any(
            each.attr == "step" and analysis.roles.object(each.value, frame) == path for each in later[derives:]
        )
        if does == "zero_grad" and steps and set(analysis.enclosing.conditions(call, function)) <= around:
            place = Location(function, call)
            text = f"`{statement_text(place)}` throws away what earlier micro-batches of the same window gave"
            remedy = "zero the gradients after the step: the prepared optimizer does so once per window"
            yield Match(place, text, certain=certain, remedy=remedy)


def _message(report: ViolationReport, text: str) -> str:
    if report.place.node is report.shown_at.node:
        name = report.optimizer.last_name if report.optimizer is not None else ""
        if report.is_leftover:
            return f"`{text}` adds to gradients that another network's loss has left for `{name}`"
        return f"`{text}` adds to gradients that a step of `{name}` has used: nothing zeroes them in between"
    if "backward" in statement_text(report.shown_at):
        return f"`{text}` throws away what earlier micro-batches of the same window gave"
    return f"`{text}` throws away gradients before the step that is to use them"

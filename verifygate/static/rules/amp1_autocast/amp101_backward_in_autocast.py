"""The backward pass runs inside an autocast region.

## What it does
Reports a `backward()` that is reached while an autocast region is active, in the same function or through a call; also
one that another library scales, as `accelerator.backward(loss)`. A model or a loss that is made elsewhere, and called
in a region, may be any module of the program: if one of them back-propagates in what is called, that is likely.

## Impact
Gradients of float32 islands and custom functions are computed in half precision: the weights drift, by about 6e-5 in
a few steps of a small run.

## Why is this bad
Autograd already runs each backward operation in the dtype of its forward operation. Inside a region autocast also
casts what the backward itself calls: gradients of float32 islands and of custom functions are computed in half
precision, and memory for the casts is held longer. The documentation of torch.amp recommends against it.

## What happens at run time
Silent. Seen on torch 2.13 (CPU): the weights after a few steps differ from those of the correct loop (about 6e-5 in
a small run with a float32 island); a custom Function without `custom_bwd` raises a dtype mismatch.

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
```

## Fix safety
Safe for a finding that is certain: everything from the statement to the end of the `with` block moves out of it, so the
order stays. No fix where any of that computes more than gradients and steps, or the region is no `with` of its own.

## What it cannot see
Regions entered in code outside the project. Which module a call runs that cannot be followed: modules that are never
in the region with their own backward are reported as likely, too. The backward in a region around several steps is a
further place of AMP104, and no finding of its own.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Applicability, Severity, Witness
from verifygate.naming import names_a_loss
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.region_spans import is_a_span, is_part_of_a_span
from verifygate.static.rule import Match, ProtocolMatch, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP101",
    name="backward-in-autocast",
    severity=Severity.MEDIUM,
    summary="backward() runs inside an autocast region",
    remedy="end the autocast region after the loss, before backward()",
    words=("autocast",),
    beside=(r"\.backward\(", "def forward"),
    witnesses=(Witness.STATIC, Witness.RUN),
    fix=Applicability.SAFE,
    proof="final-weights",
)

_by_protocol = ProtocolMatch(RULE, "`{text}` runs inside an autocast region")


def looks_beside(analysis: Analysis) -> bool:
    """Whether some region is ever on."""
    return analysis.written_regions.some_active


def check(analysis: Analysis) -> Iterable[Match]:
    """What the walk meets, and what calls that it cannot follow may reach."""
    reports = analysis.violations(RULE.code)
    seen = {(report.place.path, report.place.line) for report in reports}
    yield from (_by_protocol.match(report) for report in reports if not is_part_of_a_span(report, analysis))
    for match in _guessed(analysis):
        if (match.place.path, match.place.line) not in seen:
            seen.add((match.place.path, match.place.line))
            yield match


def _guessed(analysis: Analysis) -> Iterator[Match]:
    """Modules that back-propagate in a method which a call in a region may run."""
    inside = [(node, function) for function in analysis.functions for node in _backwards(function, analysis)]
    for node, function in inside if looks_beside(analysis) else ():
        if analysis.region_coverage.written_around(node, function) is not None:
            continue
        cover = analysis.region_coverage.reached.get(function)
        if cover is None or cover.certain or is_a_span(cover.region.place, analysis):
            continue
        if any(region.is_active for region in analysis.written_regions.by_function.get(function, ())):
            continue  # a trainer that is a module: its own region ends before, and it is called in no other
        backward = Location(function, node)
        if cover.guess is None:
            message = f"`{statement_text(backward)}` runs inside an autocast region, where this module is called in one"
            yield Match(backward, message, certain=False, steps=((cover.region.place, "the region"),))
        else:
            call = Location(cover.guess.caller, cover.guess.call)
            yield Match(
                call,
                f"`{statement_text(call)}` is called in an autocast region, and may run a backward",
                certain=False,
                steps=((cover.region.place, "the region"), (call, "the call"), (backward, "a backward it may reach")),
            )


def _backwards(function: Function, analysis: Analysis) -> Iterator[ast.Call]:
    """The backwards of tensors in a method of a module; `accelerator.backward(loss)` is another protocol's."""
    if function.owner is None or not function.module.mentions(b".backward("):
        return
    for node in function.calls:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            bases = analysis.evaluator.outside_bases(function.owner)
            receiver = ast.unparse(node.func.value)
            foreign = receiver in ("super()", "self") or (node.args and not names_a_loss(receiver))
            if any(base.startswith("torch.nn.") for base in bases) and not foreign:
                yield node

"""The scaler's step is captured into a CUDA graph.

## What it does
Reports `scaler.step(optimizer)` inside a `torch.cuda.graph(...)` block, with an optimizer that is not fused.

## Impact
CUDA refuses the capture, and the program stops.

## Why is this bad
`step` asks on the host whether an inf was found, and skips the update if so. A capture runs nothing: there is no value
to ask for, and the answer would hold for every replay. Fused optimizers (`fused=True` of Adam, AdamW, SGD and Adagrad)
decide it on the device, and can be captured.

## What happens at run time
CUDA refuses: `operation not permitted when stream is capturing`. That follows from torch 2.13's source, whose step
calls `.item()`; it was not run, for want of a device.

## Example
```python
import torch


def train(model, loss_fn, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    inputs, targets = next(batches)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    for new_inputs, new_targets in batches:
        inputs.copy_(new_inputs)
        targets.copy_(new_targets)
        graph.replay()
```

## Use instead
```python
import torch


def train(model, loss_fn, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    inputs, targets = next(batches)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
    for new_inputs, new_targets in batches:
        inputs.copy_(new_inputs)
        targets.copy_(new_targets)
        graph.replay()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: the step belongs behind each replay.

## What it cannot see
A capture between `capture_begin` and `capture_end`.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#usage-with-torch-cuda-amp
"""

from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.constructor_arguments import argument
from verifygate.static.amp.named_contexts import CAPTURE_WORD
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.values.domain import ExternalResult, Literal, Unknown

RULE = Rule(
    code="AMP222",
    name="step-in-graph-capture",
    severity=Severity.HIGH,
    summary="scaler.step is captured into a CUDA graph, and asks on the host whether an inf was found",
    remedy="capture forward, loss and backward, and step behind each replay; or use a fused optimizer",
    words=(CAPTURE_WORD, "CUDAGraph"),
    no_proof="graphs are captured on CUDA devices alone",
)
_FUSED = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Steps of scalers that a capture surely covers."""
    captures = analysis.graph_captures
    for call in analysis.scaler_calls if captures.regions.all else ():
        if call.method != "step" or call.function.module.file.is_test:
            continue
        cover = captures.cover(call.call, call.function)
        plain = _is_plain(call, analysis)
        if cover is not None and cover.certain and plain is not False:
            region = cover.region
            known = plain is True and call.is_certain and call.scaler.enabled is None
            yield Match(
                call.place,
                f"`{statement_text(call.place)}` asks on the host whether an inf was found, which a capture refuses",
                certain=known and not region.region.optional,
                steps=((region.place, "the capture"), (call.place, "the step")),
            )


def _is_plain(call: ScalerCall, analysis: Analysis) -> bool | None:
    """Whether an optimizer leaves it to the scaler to skip a step; None where its constructor is not in sight."""
    values = analysis.evaluator.values(call.optimizer, call.frame) if call.optimizer is not None else ()
    kinds = {_is_fused(value, analysis) for value in values}
    if False in kinds and len(kinds) == 1:
        return True
    return None if kinds <= {None, False} else False


def _is_fused(value: object, analysis: Analysis) -> bool | None:
    """Whether an optimizer decides on the device; those of other libraries may."""
    match value:
        case Unknown():
            return None
        case ExternalResult(name=name) if name.startswith("torch.optim."):
            asked = argument(value, "fused", 99) if name.rpartition(".")[2] in _FUSED else None
            if any(word.arg is None for made, _ in value.calls for word in made.keywords):
                return None
            if asked is None or analysis.evaluator.values(asked.expr, asked.frame) == (Literal(None),):
                return False
            return analysis.evaluator.truth(asked.expr, asked.frame)
    return True

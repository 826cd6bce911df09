"""Batches are put together by a Python list over samples in every step.

## What it does
Reports `torch.stack`, `torch.tensor`, `torch.cat` or their numpy namesakes over a list that indexes the data once per
sample (`[data[i] for i in picks]`), in every step of training.

## Impact
The GPU waits while Python touches each sample of the batch, in every step.

## Why is this bad
Python touches each sample between two steps while the GPU waits, and builds as many small tensors as the batch has
samples. Indexing with the whole array of picks, or a DataLoader with workers, does it once or beside the step.

## What happens at run time
The numbers are the same and the host does more work per step (torch 2.13: more operations, counted); how much depends
on the size of the batch.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    inputs, targets = (torch.cat(parts).to(device) for parts in zip(*batches))
    for step in range(len(batches)):
        picks = range(step * 4, step * 4 + 4)
        batch = torch.stack([inputs[i % len(inputs)] for i in picks])
        wanted = torch.stack([targets[i % len(targets)] for i in picks])
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(batch), wanted)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    inputs, targets = (torch.cat(parts).to(device) for parts in zip(*batches))
    for step in range(len(batches)):
        picks = torch.arange(step * 4, step * 4 + 4, device=device)
        batch, wanted = inputs[picks % len(inputs)], targets[picks % len(targets)]
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(batch), wanted)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix.

## What it cannot see
What a sample costs; so it is never more than likely. Lists over the outputs of the model or over losses are left
alone: only a list whose elements are looked up by the loop's own variable counts.

## References
- https://docs.pytorch.org/docs/stable/data.html
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.step_tensors import StepTensors, names_in
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="PERF107",
    name="python-batch-assembly",
    severity=Severity.LOW,
    summary="batches are put together by a Python list over samples in every step",
    remedy="index with all picks at once, or let a DataLoader with workers do it",
    words=("autocast", "GradScaler", "unscale_", "DataLoader"),
    proof="operations",
)

_ASSEMBLERS = frozenset({"torch.stack", "torch.tensor", "torch.cat", "numpy.stack", "numpy.array"})


def check(analysis: Analysis) -> Iterable[Match]:
    """Assemblies in every iteration; the first of each function stands for all."""
    seen = set()
    for loop in analysis.hot_loops.training:
        outputs = StepTensors(analysis.hot_loops, loop).on_device
        for spot in loop.iteration_points:
            picked = _picked(spot.node)
            if picked is None or spot.function in seen or set(names_in(picked)) & outputs:
                continue
            call = spot.node
            frame = analysis.evaluator.root_frame(spot.function)
            if isinstance(call, ast.Call) and analysis.roles.known_name(call.func, frame) in _ASSEMBLERS:
                seen.add(spot.function)
                text = statement_text(spot.place)
                yield Match(spot.place, f"`{text}` touches every sample in Python, in every step", certain=False)


def _picked(node: ast.AST) -> ast.expr | None:
    """What a call's list looks its elements up in, by its own variable."""
    if not (isinstance(node, ast.Call) and node.args and last_name(node.func) in ("stack", "tensor", "cat", "array")):
        return None
    listed = node.args[0]
    if not (isinstance(listed, ast.ListComp) and len(listed.generators) == 1):
        return None
    picks = {each.id for each in walk(listed.generators[0].target) if isinstance(each, ast.Name)}
    for each in walk(listed.elt):
        if isinstance(each, ast.Subscript) and any(
            isinstance(part, ast.Name) and part.id in picks for part in walk(each.slice)
        ):
            return each.value
    return None

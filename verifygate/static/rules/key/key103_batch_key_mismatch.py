"""A key is read from a batch that the dataset's items, or the collate function, never hold.

## What it does
Follows a loop over a `DataLoader` to its dataset and reads the keys of the dicts that the dataset's `__getitem__`
returns, or that the project's `collate_fn` makes of them. A constant key that the loop, or a function that it hands the
batch to, reads and that no item holds is reported.

The same for the methods that a framework calls with the batch: `training_step` and `validation_step` of a
LightningModule, whose loader is given to `fit`, or made by the module or a data module; `compute_loss`,
`training_step` and `prediction_step` of a transformers Trainer, with its `train_dataset` and `data_collator`. The
default collator of transformers calls `label` and `label_ids` of the items `labels`.

A key that a collate function reads from an item, and that no dataset's items hold that it is given, is reported too.

## Impact
The run stops with a KeyError at the first batch that gets there.

## Why is this bad
It raises KeyError at the first batch, and behind a condition only at the first batch that meets it.

## What happens at run time
`KeyError: 'label'`.

## Example
```python
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        inputs, targets = self.batches[index]
        return {"inputs": inputs, "targets": targets}


def train(model, loss_fn, optimizer, scaler, batches, device):
    for batch in DataLoader(Pairs(batches), batch_size=None):
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(batch["inputs"]), batch["labels"]).backward()
        optimizer.step()
```

## Use instead
```python
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        inputs, targets = self.batches[index]
        return {"inputs": inputs, "targets": targets}


def train(model, loss_fn, optimizer, scaler, batches, device):
    for batch in DataLoader(Pairs(batches), batch_size=None):
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(batch["inputs"]), batch["targets"]).backward()
        optimizer.step()
```

## Fix safety
No fix: the message names the nearest key, but it is unknown which one was meant.

## What it cannot see
Items that go through transforms, datasets wrapped in `Subset` and the like, batches that the loop binds anew, modules
and callbacks with a hook that gets the batch before the step does: there it stays silent. `.get`, `in` and
`except KeyError` count as guards, and what stands behind a mode that no caller in sight asks for is not read.

## References
- https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Detail, Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dict_keys import KeySet
from verifygate.static.idioms.batch_reads import BatchReads, Read
from verifygate.static.idioms.batch_shapes import (
    BatchSource,
    batch_shapes,
    collators,
    item_shapes,
    source_of_loader,
    source_of_step,
    sources,
)
from verifygate.static.idioms.data_loaders import DATA_LOADERS, Loader
from verifygate.static.idioms.key_guards import nearest
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import Loop
from verifygate.static.values.domain import ExternalResult

RULE = Rule(
    code="KEY103",
    name="batch-key-mismatch",
    severity=Severity.HIGH,
    summary="a key is read from a batch that the dataset's items never hold",
    remedy="read a key that the items hold, or put the missing one in",
    words=("DataLoader", "train_dataset"),
    proof="raised-error",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every reader of batches, or of items, that are dicts with known keys: loops, steps, collate functions."""
    yield from _in_loops(analysis)
    yield from _in_steps(analysis)
    yield from _in_collators(analysis)


def _in_loops(analysis: Analysis) -> Iterator[Match]:
    reads = BatchReads(analysis)
    for function in analysis.functions:
        for node in function.of_kind(ast.For):
            name = reads.batch_of(node)
            source = _source_of_loop(analysis, node, function) if name is not None else None
            if name is not None and source is not None and (shapes := batch_shapes(source, analysis)):
                yield from _matches(shapes, reads.missed(node.body, name, function, _keys(shapes)))


def _source_of_loop(analysis: Analysis, loop: Loop, function: Function) -> BatchSource | None:
    """What the one loader draws from that a loop goes over."""
    calls = {
        value.calls[-1][0]: value.calls[-1]
        for _, values in analysis.hot_loops.drawn.of(loop, function)
        for value in values
        if isinstance(value, ExternalResult) and value.name in DATA_LOADERS and value.calls
    }
    if len(calls) != 1:
        return None
    call, frame = next(iter(calls.values()))
    return source_of_loader(Loader(call, frame, frame.function, analysis))


def _in_steps(analysis: Analysis) -> Iterator[Match]:
    """Methods that a framework calls: a key is missing where no batch of any run that is in sight has it."""
    reads = BatchReads(analysis)
    shapes: dict[tuple[Function, str], list[list[KeySet]]] = {}
    for run in analysis.framework_runs.all:
        for step in analysis.framework_runs.steps(run):
            source = source_of_step(step, analysis)
            found = batch_shapes(source, analysis) if source is not None else []
            shapes.setdefault((step.function, step.batch), []).append(found)
    for (function, name), of_runs in shapes.items():
        if all(of_runs):
            every = [shape for found in of_runs for shape in found]
            yield from _matches(every, reads.missed_in_step(function, name, _keys(every)))


def _in_collators(analysis: Analysis) -> Iterator[Match]:
    """Functions that put items together: a key is missing where no item has it that they may be given."""
    reads = BatchReads(analysis)
    shapes: dict[Function, list[list[KeySet]]] = {}
    for source in sources(analysis):
        for function in filter(None, collators(source, analysis)):
            shapes.setdefault(function, []).append(item_shapes(source, analysis))
    for function, of_sources in shapes.items():
        if all(of_sources):
            every = [shape for found in of_sources for shape in found]
            yield from _matches(every, reads.missed_of_items(function, _keys(every)))


def _keys(shapes: list[KeySet]) -> set[str]:
    return {each for shape in shapes for each in shape.keys}


def _matches(shapes: list[KeySet], missed: Iterable[Read]) -> Iterator[Match]:
    made, keys = shapes[0].made_at, _keys(shapes)
    for read in missed:
        yield Match(
            read.place,
            f"`{ast.unparse(read.node)}` raises KeyError: "
            f"the items of `{made.function.symbol}` have no key '{read.key}'",
            certain=read.certain,
            steps=((made, f"an item is built here, with the keys {', '.join(sorted(keys))}"),),
            details=(
                Detail(label="expected keys", values=tuple(sorted(keys))),
                Detail(label="missing key", values=(read.key,)),
            ),
            remedy=nearest(read.key, keys),
        )

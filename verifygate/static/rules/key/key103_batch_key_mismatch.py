"""A key is read from a batch that the dataset's items, or the collate function, never hold.

## What it does
Follows a loop over a `DataLoader` to its dataset and reads the keys of the dicts that the dataset's `__getitem__`
returns, or that the project's `collate_fn` makes of them. A constant key that the loop, or a function that it hands the
batch to, reads and that no item holds is reported.

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
Items that go through transforms, datasets wrapped in `Subset` and the like, batches that the loop binds anew: there it
stays silent. `.get`, `in` and `except KeyError` count as guards, and what stands behind a mode that no caller in sight
asks for is not read.

## References
- https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
"""

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from verifygate.base.records import record
from verifygate.model import Detail, Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dict_keys import KeySet
from verifygate.static.idioms.data_loaders import DATA_LOADERS, Loader
from verifygate.static.idioms.key_guards import guarded, nearest
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import Loop
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, ExternalResult, Frame, FunctionValue, Literal, Object

RULE = Rule(
    code="KEY103",
    name="batch-key-mismatch",
    severity=Severity.HIGH,
    summary="a key is read from a batch that the dataset's items never hold",
    remedy="read a key that the items hold, or put the missing one in",
    words=("DataLoader",),
    proof="raised-error",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every loop over a loader whose items are dicts with known keys."""
    for function in analysis.functions:
        for node in function.of_kind(ast.For):
            name = _batch_name(node)
            if name is None or _bound_anew(node, name):
                continue
            shapes = _shapes(analysis, node, function)
            if shapes:
                keys = {each for shape in shapes for each in shape.keys}
                stored = _stored(node, name)
                for alternatives in _reads(analysis, node, name, function):
                    missed = [
                        [read for read in reads if _misses(read, keys | stored, analysis)] for reads in alternatives
                    ]
                    if all(missed):  # where one of several models can take the batch, that one is meant
                        for read in (each for reads in missed for each in reads):
                            yield _match(read, shapes[0].made_at, keys)


def _batch_name(loop: ast.For) -> str | None:
    """The variable that holds the batch: the target, or the second part of an enumerated one."""
    text = ast.unparse(loop.iter)
    if "zip(" in text:
        return None
    match loop.target:
        case ast.Name(id=name) if "enumerate" not in text:
            return name
        case ast.Tuple(elts=[_, ast.Name(id=name)]) if "enumerate(" in text:
            return name
    return None


def _bound_anew(loop: ast.For, name: str) -> bool:
    inside = [node for statement in loop.body for node in walk(statement)]
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in inside
    ) or any(
        isinstance(node, ast.Attribute)
        and node.attr in ("update", "setdefault")
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in inside
    )


def _stored(loop: ast.For, name: str) -> set[str]:
    return {
        str(node.slice.value)
        for node in walk(loop)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
    }


def _shapes(analysis: Analysis, loop: Loop, function: Function) -> list[KeySet]:
    """The shapes of the batches of a loop; nothing where any of them is not known."""
    calls = {
        value.calls[-1][0]: value.calls[-1]
        for _, values in analysis.hot_loops.drawn.of(loop, function)
        for value in values
        if isinstance(value, ExternalResult) and value.name in DATA_LOADERS and value.calls
    }
    if len(calls) != 1:
        return []
    call, frame = next(iter(calls.values()))
    loader = Loader(call, frame, frame.function, analysis)
    collate = loader.given("collate_fn")
    makers: list[Function] = []
    values = loader.values("dataset" if collate is None else "collate_fn")
    for value in values:
        match value:
            case Object() if collate is None:
                makers += _method(analysis, value, "__getitem__")
            case Object():
                makers += _method(analysis, value, "__call__")
            case FunctionValue():
                makers.append(value.function)
            case Literal() | ClassValue() | _:
                return []
    return _returned(analysis, makers) if len(makers) == len(values) else []


def _method(analysis: Analysis, value: Object, name: str) -> list[Function]:
    for base in analysis.evaluator.linearised(value.made):
        if name in base.methods:
            return [base.methods[name]]
    return []


def _returned(analysis: Analysis, makers: list[Function]) -> list[KeySet]:
    """The shapes of all that some functions return; nothing where one return is anything else."""
    found: list[KeySet] = []
    for maker in makers:
        frame = analysis.evaluator.root_frame(maker)
        for result in maker.returns:
            shapes = analysis.dict_keys.of(result, frame)
            if shapes is None:
                return []
            found += shapes
    return found


@record
class _Read:
    """A key read from a batch, by the name that the batch has there."""

    place: Location
    node: ast.Subscript
    batch: str
    certain: bool = True
    """Not in a function that may be another one, nor where it asks for something, its mode perhaps, before it reads."""

    @property
    def key(self) -> str:
        return str(self.node.slice.value) if isinstance(self.node.slice, ast.Constant) else ""


def _reads(analysis: Analysis, loop: ast.For, name: str, function: Function) -> Iterator[list[list[_Read]]]:
    """Constant keys read from the batch in the loop, and in functions that get the batch as it is.

    For each place that reads, or hands the batch over: what each of the functions reads that it may run.
    """
    frame = analysis.evaluator.root_frame(function)
    for node in (each for statement in loop.body for each in walk(statement)):
        if _is_read(node, name):
            yield [[_Read(Location(function, node), node, name)]]
        if not isinstance(node, ast.Call):
            continue
        if not any(isinstance(argument, ast.Name) and argument.id == name for argument in node.args):
            continue
        callees = analysis.evaluator.callees(node, frame)
        entered = {callee.function: analysis.evaluator.enter(callee, node, frame) for callee in callees}
        yield [_reads_in(callee, inside, name, len(entered) == 1, analysis) for callee, inside in entered.items()]


def _reads_in(callee: Function, frame: Frame | None, name: str, certain: bool, analysis: Analysis) -> list[_Read]:
    """What a function reads from the parameter that gets the batch."""
    found: list[_Read] = []
    for parameter, bound in (frame.arguments if frame else {}).items():
        bindings = callee.scope.names.get(parameter, ())  # none for what `*args` takes
        if not (isinstance(bound.expr, ast.Name) and bound.expr.id == name) or len(bindings) != 1:
            continue
        if _touches(callee, parameter):
            continue
        for node in callee.own_nodes:
            if _is_read(node, parameter):
                asks = any(True for _ in analysis.path_conditions.conditions(Location(callee, node)))
                found.append(_Read(Location(callee, node), node, parameter, certain and not asks))
    return found


def _misses(read: _Read, keys: set[str], analysis: Analysis) -> bool:
    """Whether a key that is read is not there, and nothing asks for it first or catches what that raises."""
    if read.key in keys or guarded(read.node, read.key, read.place.function):
        return False
    if _is_left_out(read.place, analysis):
        return False
    return not any(
        _asks_for_another(test, holds, read.batch, keys) for test, holds in analysis.path_conditions.leaves(read.place)
    )


def _is_left_out(place: Location, analysis: Analysis) -> bool:
    """Whether every call in sight denies what a place is held by: a mode that is left as it is, another one."""
    tests = list(analysis.path_conditions.conditions(place))
    entries = [entered for _, entered in analysis.call_graph.entries(place.function)] if tests else []
    truth = analysis.evaluator.truth
    return bool(entries) and all(any(truth(test, each) is (not holds) for test, holds in tests) for each in entries)


def _asks_for_another(test: ast.expr, holds: bool, batch: str, keys: set[str]) -> bool:
    """Whether a condition wants a key in the batch that is not there: no such batch comes behind it."""
    match test:
        case ast.Compare(left=ast.Constant(value=str(key)), ops=[op], comparators=[ast.Name(id=name)]):
            return name == batch and key not in keys and isinstance(op, ast.In if holds else ast.NotIn)
    return False


def _touches(function: Function, name: str) -> bool:
    """Whether a function may put keys into one of its parameters."""
    return any(
        isinstance(node, ast.Subscript | ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and (not isinstance(node.ctx, ast.Load) or getattr(node, "attr", "") in ("update", "setdefault"))
        for node in function.own_nodes
    )


def _is_read(node: ast.AST, name: str) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def _match(read: _Read, made: Location, keys: set[str]) -> Match:
    return Match(
        read.place,
        f"`{ast.unparse(read.node)}` raises KeyError: the items of `{made.function.symbol}` have no key '{read.key}'",
        certain=read.certain,
        steps=((made, f"an item is built here, with the keys {', '.join(sorted(keys))}"),),
        details=(
            Detail(label="expected keys", values=tuple(sorted(keys))),
            Detail(label="missing key", values=(read.key,)),
        ),
        remedy=nearest(read.key, keys),
    )

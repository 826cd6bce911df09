"""A key is read from a dict that the function returning it never puts in.

## What it does
Follows dicts with constant keys from where they are built to where they are read: through returns, variables,
attributes, parameters and files. A key that is read but that no path puts in is reported, with the keys there are.

## Why is this bad
It raises KeyError when that line runs. In training code such lines often run late (a summary after hours of training)
or only on a GPU, so the tests miss them.

## What happens at run time
`KeyError: 'train_data'`.

## Example
```python
def set_up(batches):
    return {"train_loader": batches, "epochs": 1}


def train(model, loss_fn, optimizer, scaler, batches, device):
    env = set_up(batches)
    print(f"Training samples: {len(env['train_data'])}")
```

## Use instead
```python
def set_up(batches):
    return {"train_loader": batches, "epochs": 1}


def train(model, loss_fn, optimizer, scaler, batches, device):
    env = set_up(batches)
    print(f"Training samples: {len(env['train_loader'])}")
```

## Fix safety
No fix: the nearest key is named, but which one was meant is a decision.

## What it cannot see
Dicts that are handed to code outside the project, get computed keys, or come from files: there it stays silent.
`d.get(key)`, `key in d` and `except KeyError` count as guards. Only files that mention AMP, and files that they
import or that import them, are looked at.

## References
- https://docs.python.org/3/library/exceptions.html#KeyError
"""

import ast
import difflib
from collections.abc import Iterable, Iterator

from verifygate.model import Detail, Severity
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.program import Function
from verifygate.static.rule import Match, Rule
from verifygate.static.shapes import Shape

RULE = Rule(
    code="KEY101",
    name="missing-key",
    severity=Severity.CRITICAL,
    summary="a key is read that the function returning the dict never puts in",
    remedy="read a key that is there, or put the missing one in",
    words=("autocast", "GradScaler", "unscale_"),
    proof="raised-error",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every read of a constant key that none of the dicts it can be read from holds."""
    for function in analysis.functions:
        frame = analysis.evaluator.root_frame(function)
        for node in function.own_nodes:
            if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
                continue
            if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
                continue
            key = node.slice.value
            shapes = analysis.shapes.of(node.value, frame)
            if shapes and not any(key in shape.keys for shape in shapes) and not _guarded(node, key, function):
                yield _match(node, key, shapes, function)


def _match(node: ast.Subscript, key: str, shapes: list[Shape], function: Function) -> Match:
    keys = sorted({each for shape in shapes for each in shape.keys})
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.4)
    made = [
        (shape.made_at, f"the dict is built here, with the keys {', '.join(sorted(shape.keys))}") for shape in shapes
    ]
    where = shapes[0].made_at.function.symbol or "the module"
    return Match(
        Place(function, node),
        f"`{ast.unparse(node)}` raises KeyError: the dict from `{where}` has no key '{key}'",
        steps=(*made, (Place(function, node), f"'{key}' is read here")),
        details=(Detail(label="expected keys", values=tuple(keys)), Detail(label="missing key", values=(key,))),
        remedy=f"did you mean '{near[0]}'?" if near else "",
    )


def _guarded(node: ast.Subscript, key: str, function: Function) -> bool:
    """Whether the function asks for the key first, or catches what its absence raises."""
    return any(
        (isinstance(each, ast.Compare) and isinstance(each.left, ast.Constant) and each.left.value == key)
        or (isinstance(each, ast.Try) and _catches_key_error(each) and _within(node, each.body))
        for each in function.own_nodes
    )


def _catches_key_error(node: ast.Try) -> bool:
    names = {name for handler in node.handlers for name in _handled(handler)}
    return bool(names & {"KeyError", "LookupError", "Exception", "BaseException", ""})


def _handled(handler: ast.ExceptHandler) -> Iterator[str]:
    if handler.type is None:
        yield ""
    elif isinstance(handler.type, ast.Tuple):
        yield from (ast.unparse(each) for each in handler.type.elts)
    else:
        yield ast.unparse(handler.type)


def _within(node: ast.AST, body: list[ast.stmt]) -> bool:
    return any(node is each for statement in body for each in ast.walk(statement))

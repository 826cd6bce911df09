"""The model that is trained is made half for a while, and float32 again.

## What it does
Reports a cast in place to float16 or bfloat16 of a model whose parameters an optimizer has, where the same function, or
another method of the class, casts the same model back to float32.

## Impact
Each evaluation or checkpoint rounds the weights of the training: at a learning rate of 1e-5 no step survives it.

## Why is this bad
A module is cast in place: what the cast rounds away is gone, and casting back brings nothing of it back. Each
evaluation, or each checkpoint, rounds all weights to eight bits (bfloat16) or eleven, and the steps since the last one
with them, where they were smaller than half the distance to the next number. In float16 what is above 65504 is inf.

## What happens at run time
Silent on every torch. On 2.13 (CPU) the weights after a training with such an evaluation differ from those without; at
a learning rate of 1e-5 no step survives it (AMP701 has the numbers).

## Example
```python
import torch


def train(model, loss_fn, optimizer, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
        model.bfloat16()
        with torch.no_grad():
            loss_fn(model(inputs.bfloat16()), targets)
        model.float()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, batches, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
        with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16):
            loss_fn(model(inputs), targets)
```

## Fix safety
No fix: autocast, or a copy (`copy.deepcopy(model).half()`), are both right, and differ in time and memory.

## What it cannot see
Models whose optimizer is not built in sight, a cast back in another function than these, and casts in a file that
names no optimizer and no `eval()`. A model whose state is loaded again after the cast is left alone. In `run` (and by
`check --abstract-run`), programs are also run on an abstract machine, which sees a cast back in any function.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.half
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.idioms.half_weights import optimizer_calls
from verifygate.static.idioms.trained_parameters import model_of, models_in
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP707",
    name="half-round-trip",
    severity=Severity.HIGH,
    summary="the model that is trained is made half and float32 again, which rounds its weights each time",
    remedy="evaluate and save under autocast, or in half a copy of the model",
    words=(),
    beside=(r"\.half\(|\.bfloat16\(|float16", r"\.float\(|float32", r"optim\.|optimizer|Adam|SGD|\.eval\("),
    proof="final-weights",
)

_WORDS = (b".half(", b".bfloat16(", b"float16")


def check(analysis: Analysis) -> Iterator[Match]:
    """Each cast to half that is followed by one back."""
    for function in analysis.functions:
        if not function.module.mentions(*_WORDS) or not function.module.mentions(b".float(", b"float32"):
            continue
        for cast, model in _casts(function, HALVES, analysis):
            found = _brought_back(cast, model, function, analysis)
            if found is None or _is_loaded_again(cast, model, function):
                continue
            optimizer = _optimizer_of(model, function, analysis)
            place = Location(function, cast)
            if optimizer is None or (optimizer.function is function and optimizer.line > place.line):
                continue
            same = found.function is function
            yield Match(
                place,
                f"`{statement_text(place)}` rounds the weights that are trained, and `{statement_text(found)}` "
                "does not bring back what is rounded away",
                certain=same and not analysis.enclosing.conditions(cast, function),
                steps=((optimizer, "the optimizer of the model"), (place, "the cast"), (found, "the cast back")),
            )


def _casts(
    function: Function, dtypes: frozenset[Dtype], analysis: Analysis
) -> Iterator[tuple[ast.Call, ast.Name | ast.Attribute]]:
    """The casts in place of what may be a module to one of some dtypes, each with what is cast."""
    frame = analysis.evaluator.root_frame(function)
    for call in sorted(function.calls, key=lambda each: (each.lineno, each.col_offset)):
        if not isinstance(call.func, ast.Attribute):
            continue
        cast = analysis.module_dtypes.cast(call, frame)
        model = model_of(call.func.value)
        if cast and all(each.dtype in dtypes for each in cast) and isinstance(model, ast.Name | ast.Attribute):
            yield call, model


def _brought_back(
    cast: ast.Call, model: ast.Name | ast.Attribute, function: Function, analysis: Analysis
) -> Location | None:
    """Where a model is cast to float32 after a cast: in the function, or in another method of its class."""
    text = ast.unparse(model)
    place = Location(function, cast)
    for back, other in _casts(function, frozenset({Dtype.FLOAT32}), analysis):
        after = back.lineno > cast.lineno and ast.unparse(other) == text
        if after and analysis.path_conditions.agree(place, Location(function, back)):
            return Location(function, back)
    methods = function.owner.methods.values() if function.owner is not None and text.startswith("self.") else ()
    for method in methods:
        if method is not function:
            for back, other in _casts(method, frozenset({Dtype.FLOAT32}), analysis):
                if ast.unparse(other) == text:
                    return Location(method, back)
    return None


def _is_loaded_again(cast: ast.Call, model: ast.Name | ast.Attribute, function: Function) -> bool:
    """Whether the function loads a state into the model after the cast: one that was saved before."""
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "load_state_dict"
        and ast.unparse(call.func.value) == ast.unparse(model)
        and call.lineno > cast.lineno
        for call in function.calls
    )


def _optimizer_of(model: ast.Name | ast.Attribute, function: Function, analysis: Analysis) -> Location | None:
    """Where an optimizer is built for a model: in the function, in its class, or where it is called with the model."""
    text = ast.unparse(model)
    homes = [function]
    if function.owner is not None and text.startswith("self."):
        homes += function.owner.methods.values()
    for home in homes:
        if (found := _built_for(text, home, analysis)) is not None:
            return found
    if isinstance(model, ast.Name):
        for site, bound in analysis.call_graph.given(model.id, function):
            if bound.frame.function is not site.caller:
                continue
            given = ast.unparse(bound.expr)
            owner = site.caller.owner if given.startswith("self.") else None
            for home in (site.caller, *(owner.methods.values() if owner is not None else ())):
                if (found := _built_for(given, home, analysis)) is not None:
                    return found
    return None


def _built_for(model: str, function: Function, analysis: Analysis) -> Location | None:
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        if not call.args or not any(
            ast.unparse(each) == model for each in models_in(call.args[0], frame, analysis.evaluator)
        ):
            continue
        values = analysis.evaluator.values(call, frame)
        if any(built is call for value in values for built, _ in optimizer_calls(value)):
            return Location(function, call)
    return None

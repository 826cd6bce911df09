"""The checkpoint from which a training resumes holds its float32 weights in half.

## What it does
Reports a checkpoint with the state of an optimizer, in which the weights that the optimizer steps are cast to float16
or bfloat16: weight by weight (`{name: w.half() for name, w in model.state_dict().items()}`), or as a copy of the model
(`copy.deepcopy(model).half()`). Certain where the program loads the optimizer's state again.

## Impact
Each resumed run starts from rounded weights: steps smaller than half the distance to the next number are lost.

## Why is this bad
The state of an optimizer is saved to go on with a training. What goes on is another one: the cast rounds each weight to
eight bits (bfloat16) or eleven, while the moments of the optimizer belong to the weights before. In float16 what is
above 65504 is inf, and what is below 6e-8 is zero. A checkpoint for others to use may be half; that one needs no
optimizer's state.

## What happens at run time
Silent on every torch: `load_state_dict` copies the half weights into float32 parameters. On 2.13 (CPU) a training that
saves and resumes so ends in other weights than one that was never interrupted.

## Example
```python
import io

import torch


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
        weights = {name: weight.half() for name, weight in model.state_dict().items()}
        file = io.BytesIO()
        torch.save({"model": weights, "optimizer": optimizer.state_dict()}, file)
        resume(model, optimizer, file)


def resume(model, optimizer, file):
    file.seek(0)
    state = torch.load(file)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
```

## Use instead
```python
import io

import torch


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
        file = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        resume(model, optimizer, file)


def resume(model, optimizer, file):
    file.seek(0)
    state = torch.load(file)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
```

## Fix safety
No fix: the file gets twice as large, and something else may read it.

## What it cannot see
Checkpoints whose parts are written to several files, and those that a framework writes. A checkpoint that has the
weights in float32 as well is left alone, and so is a model that is trained in half (AMP701).

## References
- https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES
from verifygate.static.idioms.half_states import bound_state, half_state
from verifygate.static.idioms.trained_parameters import is_trained
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name

RULE = Rule(
    code="AMP708",
    name="half-checkpoint",
    severity=Severity.MEDIUM,
    summary="the checkpoint from which the training resumes holds its float32 weights in half",
    remedy="save the weights as they are, and half ones in a file of their own",
    words=(),
    beside=(r"\.half\(|\.bfloat16\(|float16", r"state_dict", r"optim", r"save"),
    proof="final-weights",
)

_AVERAGE = re.compile(r"(?i)ema|average|avg|swa|shadow")
"""What an average of the weights is called: what is trained is another model."""
_WORDS = (b".half(", b".bfloat16(", b"float16")


def check(analysis: Analysis) -> Iterator[Match]:
    """Each record with the state of an optimizer, and the half weights beside it."""
    for saved, optimizer in _saved_optimizers(analysis):
        values = _beside(saved, analysis)
        frame = analysis.evaluator.root_frame(saved.function)
        for value in values:
            state = half_state(value, frame, analysis)
            if state is None:
                continue
            model = bound_state(state.model, state.frame.function)
            half = [each for each in analysis.module_dtypes.of(model, state.frame) if each.dtype in HALVES]
            if _is_kept_whole(model, values) or any(each.sure for each in half):
                continue  # rounding takes nothing from a model that is half itself
            trained = is_trained(ast.unparse(model), optimizer, state.frame, analysis.evaluator)
            if trained is False or (trained is None and _AVERAGE.search(ast.unparse(model))):
                continue
            resumed = _resumed(saved, analysis)
            steps = [(state.cast, f"the weights are made {state.dtype}"), (saved, "the optimizer's state beside them")]
            yield Match(
                state.cast,
                f"`{statement_text(state.cast)}` rounds the weights of the checkpoint from which the training goes on",
                certain=trained is True and resumed is not None and not half and state.frame.function is saved.function,
                steps=tuple(steps) if resumed is None else (*steps, (resumed, "a training resumes")),
            )


def _saved_optimizers(analysis: Analysis) -> Iterator[tuple[Location, ast.expr]]:
    """Where the state of an optimizer is taken in a program that makes something half, and the optimizer."""
    halves = [module.path for module in analysis.modules if module.mentions(*_WORDS)]
    for function in analysis.functions if halves else ():
        if not function.module.mentions(b"state_dict"):
            continue
        files = analysis.import_graph.together(function.module.path)
        if not any(path in files for path in halves):
            continue
        for call in function.calls:
            match call.func:
                case ast.Attribute(value=optimizer, attr="state_dict") if analysis.roles.is_optimizer(
                    optimizer, analysis.evaluator.root_frame(function)
                ):
                    yield Location(function, call), optimizer


def _beside(saved: Location, analysis: Analysis) -> list[ast.expr]:
    """What a record holds that the state of an optimizer is put into: a dict, or a name that is given its parts."""
    for each in analysis.enclosing.around(saved.node, saved.function):
        match each.node:
            case ast.Dict(values=values):
                return values
            case ast.Call(keywords=words, func=func) if last_name(func) == "dict":
                return [word.value for word in words]
            case ast.Assign(targets=[ast.Subscript(value=record)]):
                name = ast.unparse(record)
                parts = [put for put in saved.function.of_kind(ast.Assign) if _is_part(put, name)]
                return [put.value for put in parts]
            case ast.stmt():
                break
    return []


def _is_part(put: ast.Assign, record: str) -> bool:
    match put.targets:
        case [ast.Subscript(value=holder)]:
            return ast.unparse(holder) == record
    return False


def _is_kept_whole(model: ast.expr, values: list[ast.expr]) -> bool:
    """Whether the record has the state of the model as it is, too."""
    return f"{ast.unparse(model)}.state_dict()" in {ast.unparse(each) for each in values}


def _resumed(saved: Location, analysis: Analysis) -> Location | None:
    """Where a program that saves loads the state of an optimizer again."""
    files = analysis.import_graph.together(saved.path)
    return next((each for each in analysis.checkpoints.restored if each.path in files), None)

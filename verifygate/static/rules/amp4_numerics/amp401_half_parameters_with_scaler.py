"""A model's parameters are made half, and a GradScaler steps them.

## What it does
Reports `model.half()` and `model.to(torch.float16)` in a function that goes on to step with a scaler, where no
condition lies between, the model is not made float again, and the optimizer is not seen to be given other models'
parameters only. Certain where it is seen to be given this one's; not reported where the function only evaluates the
model, nor where the optimizer is of a class that sets `_step_supports_amp_scaling`, since the
scaler then leaves unscaling to it.

## Why is this bad
A scaler divides gradients in float32 and refuses half ones: dividing in half would flush to zero what scaling had
saved. Autocast needs no half parameters: it casts what it needs, and the optimizer keeps weights that can hold small
steps.

## What happens at run time
`ValueError: Attempting to unscale FP16 gradients.` at the first step or `unscale_` (2.13). With one of torch's fused
optimizers and no explicit `unscale_` nothing raises, and the weights are trained in half.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    model.half()
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
No fix: whether anything else relies on half parameters is not known here.

## What it cannot see
A model that is made half in another function than the one that steps, and parameters made half one by one.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
from collections.abc import Iterable

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.program import Function
from verifygate.static.roles import ScalerKind
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.trained import is_frozen, is_trained, model_of
from verifygate.static.values import Frame, Made, Object

RULE = Rule(
    code="AMP401",
    name="half-parameters-with-scaler",
    severity=Severity.CRITICAL,
    summary="a model's parameters are made half, and a GradScaler steps them",
    remedy="leave the parameters in float32: autocast casts what it needs",
    words=(".half(", ".to(torch.float16", ".to(torch.half", "dtype=torch.float16"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

_UNSCALES_ITSELF = "_step_supports_amp_scaling"
"""An optimizer with this attribute takes the scale itself: the scaler hands it over and unscales nothing."""


def check(analysis: Analysis) -> Iterable[Match]:
    """Every cast of a model to half that surely comes before a scaler's step in the same function."""
    for function in analysis.functions:
        if not (function.module.mentions(b"caler") and function.module.mentions(b"half", b"float16")):
            continue
        casts = [node for node in function.calls if _casts_to_half(node, function, analysis)]
        steps = _steps(function, analysis) if casts else []
        for cast in casts:
            later = _that_take(_kept_as(cast, function, analysis), steps, cast, function, analysis)
            if later and not _is_undone(cast, function, analysis) and not analysis.nesting.conditions(cast, function):
                place = Place(function, cast)
                yield Match(
                    place,
                    f"`{statement_text(place)}` makes the parameters half, whose gradients the scaler refuses",
                    certain=any(refuses for _, refuses in later),
                    steps=((place, "the cast"), (Place(function, later[0][0]), "the step")),
                )


def _casts_to_half(node: ast.Call, function: Function, analysis: Analysis) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    frame = analysis.evaluator.root_frame(function)
    half = node.func.attr == "half" and not node.args
    if node.func.attr == "to":
        given = [*node.args, *(word.value for word in node.keywords)]
        half = any(analysis.roles.known_name(each, frame) in ("torch.float16", "torch.half") for each in given)
    return half and analysis.hot.is_model(model_of(node), function) and bool(_kept_as(node, function, analysis))


def _kept_as(cast: ast.Call, function: Function, analysis: Analysis) -> str:
    """The name of the model, which a cast changes in place; of a new model, the one it gets, empty for none."""
    model = model_of(cast)
    if not isinstance(model, ast.Call):
        return ast.unparse(model)
    around = (each.node for each in analysis.nesting.around(cast, function))
    outer = next(node for node in around if not isinstance(node, ast.Attribute | ast.Call))
    return ast.unparse(outer.targets[0]) if isinstance(outer, ast.Assign) else ""


def _steps(function: Function, analysis: Analysis) -> list[tuple[ast.Call, bool]]:
    """Where a scaler unscales in the function, or may; and whether it surely does."""
    frame = analysis.evaluator.root_frame(function)
    found = []
    for node in function.calls:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("step", "unscale_"):
            scaler = analysis.roles.scaler(node.func.value, frame)
            refuses = node.func.attr == "unscale_" or _is_unscaled_for(node, frame, analysis)
            if scaler is not None and scaler.kind is not ScalerKind.IDLE and refuses is not False:
                found.append((node, bool(refuses)))
    return found


def _that_take(
    model: str, steps: list[tuple[ast.Call, bool]], cast: ast.Call, function: Function, analysis: Analysis
) -> list[tuple[ast.Call, bool]]:
    """The steps after a cast that may be for the parameters of the model, and whether they surely refuse them."""
    frame = analysis.evaluator.root_frame(function)
    found = []
    for step, refuses in steps:
        trained = is_trained(model, step.args[0], frame, analysis.evaluator) if step.args else None
        trained = False if trained is None and is_frozen(model, frame) else trained
        if step.lineno > Place(function, cast).line and trained is not False:
            found.append((step, refuses and trained is True))
    return found


def _is_unscaled_for(step: ast.Call, frame: Frame, analysis: Analysis) -> bool | None:
    """Whether the scaler's step unscales for the optimizer it is given; None where that cannot be told."""
    if not step.args:
        return None
    evaluator = analysis.evaluator
    found: list[bool | None] = []
    for value in evaluator.values(step.args[0], frame):
        match value:
            case Object(made=made) if any(_UNSCALES_ITSELF in each.attributes for each in evaluator.linearised(made)):
                found.append(False)
            case Made(name=name) if name.startswith("torch.optim."):
                found.append(True)
            case Object(made=made) if any(base.startswith("torch.optim.") for base in evaluator.outside_bases(made)):
                found.append(True)
            case _:
                found.append(None)
    return found[0] if len(set(found)) == 1 else None


def _is_undone(cast: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether the same model is made float again."""
    name = _kept_as(cast, function, analysis)
    return any(node.attr == "float" and ast.unparse(node.value) == name for node in function.of_kind(ast.Attribute))

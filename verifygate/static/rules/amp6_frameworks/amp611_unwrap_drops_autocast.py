"""`unwrap_model(keep_fp32_wrapper=False)` takes autocast off a model that goes on training.

## What it does
Reports `accelerator.unwrap_model(model, keep_fp32_wrapper=False)` in a loop that trains through the same Accelerator,
if the precision is float16 or bfloat16.

- Certain if the Accelerator was followed to a call with the precision, and the loop always runs the call.
- Likely otherwise.
- Not reported after the training, nor where the loop is left right after it.

## Impact
From the first unwrap on, training runs in float32, slower and with more memory, while the settings say mixed
precision.

## Why is this bad
Accelerate's `prepare` puts autocast around the model's own `forward`. To unwrap it without the wrapper puts the plain
`forward` back into the very object that is being trained: from then on it computes in float32. The scaler stays.

## What happens at run time
Nothing raises. Steps take longer and need more memory from the first unwrap on.
Seen with torch 2.13 and Accelerate 1.15.

## Example
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        accelerator.backward(loss_fn(model(inputs), targets))
        optimizer.step()
        state = accelerator.unwrap_model(model, keep_fp32_wrapper=False).state_dict()
    return len(state)
```

## Use instead
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        accelerator.backward(loss_fn(model(inputs), targets))
        optimizer.step()
        state = accelerator.unwrap_model(model).state_dict()
    return len(state)
```

## Fix safety
No fix: what is done with the model afterwards may need the plain `forward`.

## What it cannot see
An unwrap in a function that the loop calls.

## References
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.unwrap_model
"""

import ast
from collections.abc import Iterable

from verifygate.framework_names import ACCELERATE
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Precision
from verifygate.static.idioms.framework_loops import Does, GradientCalls, judged
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP611",
    name="unwrap-drops-autocast",
    severity=Severity.MEDIUM,
    summary="`unwrap_model(keep_fp32_wrapper=False)` takes autocast off a model that goes on training",
    remedy="leave `keep_fp32_wrapper` as it is while training; it only matters where the model is pickled",
    words=("keep_fp32_wrapper",),
    proof="final-weights",
)
_HALF = (Precision.FLOAT16, Precision.BFLOAT16)


def check(analysis: Analysis) -> Iterable[Match]:
    """Unwrapping in a loop that goes on training."""
    for function, found in GradientCalls(analysis).loops():
        if not function.module.mentions(b"keep_fp32_wrapper"):
            continue
        frame = analysis.evaluator.root_frame(function)
        for call in function.calls:
            if not isinstance(call.func, ast.Attribute) or not _drops(call, analysis, function):
                continue
            handle = analysis.frameworks.handle(call.func.value, frame)
            if handle is None or handle.framework is not ACCELERATE or not handle.may_be(*_HALF):
                continue
            loops = analysis.enclosing.loops(call, function)
            trains = [
                each
                for each in found
                if each.does is Does.FRAMEWORK_BACKWARD
                and set(loops).intersection(analysis.enclosing.loops(each.call, function))
            ]
            if trains and not _leaves(call, function, analysis):
                place = Location(function, call)
                around = analysis.enclosing.conditions(call, function)
                own = [each for each in around if each not in analysis.enclosing.conditions(trains[0].call, function)]
                message = f"`{statement_text(place)}` takes autocast off the model that this loop trains"
                steps = ((trains[0].place, "the training"), (place, "unwrapped"))
                match = judged(place, message, handle, steps, certain=not own, precisions=_HALF)
                if match is not None:
                    yield match


def _drops(call: ast.Call, analysis: Analysis, function: Function) -> bool:
    frame = analysis.evaluator.root_frame(function)
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "keep_fp32_wrapper")]
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "unwrap_model"
    return named and bool(given) and analysis.evaluator.truth(given[0], frame) is False


def _leaves(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether the loop is left in the block of a call."""
    for each in analysis.enclosing.around(call, function):
        block = getattr(each.node, each.part)
        if isinstance(block, list) and any(isinstance(part, ast.Break | ast.Return) for part in block):
            return True
        if isinstance(each.node, ast.For | ast.While):
            return False
    return False

"""A model runs as it was before Fabric wrapped it: without autocast.

## What it does
Reports a call of a model that `fabric.setup` was given, by its old name, in a loop whose backward is Fabric's, if the
precision is float16.

- Certain if Fabric was followed to a call that asks for float16.
- Likely if the precision is that of another call in the program.
- Not reported for Accelerate, which puts autocast into the model itself.

## Impact
The model computes in float32 while the scaler works on, and with several processes its gradients are not averaged.

## Why is this bad
Autocast, and what a strategy does in a forward, is in the object that `setup` returns. The model by itself computes in
float32, while the scaler goes on scaling: all the cost of float16 and nothing of its speed. With several processes the
gradients are not averaged.

## What happens at run time
Nothing raises on one device.
Seen with torch 2.13 and Lightning 2.6.

## Example
```python
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, optimizer, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    wrapped, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        fabric.backward(loss)
        optimizer.step()
```

## Use instead
```python
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision


def train(model, loss_fn, optimizer, scaler, batches, device):
    fabric = Fabric(accelerator=device, devices=1, plugins=MixedPrecision("16-mixed", device, scaler))
    wrapped, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(wrapped(inputs), targets)
        fabric.backward(loss)
        optimizer.step()
```

## Fix safety
No fix: the model may be meant to run without autocast, as a teacher is.

## What it cannot see
A model that is run in another function than the one that sets it up.

## References
- https://lightning.ai/docs/fabric/stable/api/fabric_methods.html#setup
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.framework_names import FABRIC
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.idioms.ddp_bypass import flows_into, keeps_its_name
from verifygate.static.idioms.framework_loops import Does, GradientCall, GradientCalls, judged
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP613",
    name="forward-past-framework",
    severity=Severity.HIGH,
    summary="a model runs as it was before Fabric wrapped it: without autocast",
    remedy="run what `fabric.setup(...)` returned for the model",
    words=("Fabric(", "fabric.backward("),
    proof="final-weights",
)


def check(analysis: Analysis) -> Iterable[Match]:
    """Calls of models by the name that they had before they were set up, whose output goes backward."""
    for function, found in GradientCalls(analysis).loops():
        backwards = [each for each in found if each.does is Does.FRAMEWORK_BACKWARD and _is_fabrics(each.handle)]
        if not backwards:
            continue
        names = dict(_set_up(function, analysis))
        for call in function.calls:
            if not isinstance(call.func, ast.Name) or call.func.id not in names:
                continue
            put = names[call.func.id]
            if not keeps_its_name(call.func.id, put, call, function, analysis):
                continue
            backward = _of_its_output(call, backwards, function, analysis)
            if backward is None or backward.handle is None or not backward.handle.scales:
                continue
            setup, place = Location(function, put.value), Location(function, call)
            message = f"`{statement_text(place)}` runs the model without the autocast that Fabric has put around it"
            steps = ((setup, "set up"), (place, "the forward"), (backward.place, "the backward"))
            if match := judged(place, message, backward.handle, steps):
                yield match


def _is_fabrics(handle: Handle | None) -> bool:
    return handle is not None and handle.framework is FABRIC


def _set_up(function: Function, analysis: Analysis) -> Iterator[tuple[str, ast.Assign]]:
    """The names of models that are set up and keep their name: what is returned goes by another."""
    frame = analysis.evaluator.root_frame(function)
    for put in function.of_kind(ast.Assign):
        match put.value:
            case ast.Call(func=ast.Attribute(value=owner, attr="setup" | "setup_module"), args=[ast.Name(id=name), *_]):
                bound = {node.id for target in put.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
                if name not in bound and _is_fabrics(analysis.frameworks.handle(owner, frame)):
                    yield name, put


def _of_its_output(
    call: ast.Call, backwards: list[GradientCall], function: Function, analysis: Analysis
) -> GradientCall | None:
    """The backward of the loss that the output of a call goes into, in the same iteration."""
    for each in backwards:
        loops = analysis.enclosing.loops(each.call, function)
        if loops != analysis.enclosing.loops(call, function) or call.lineno > each.call.lineno:
            continue
        if flows_into(each.subject, call, function, set()):
            return each
    return None

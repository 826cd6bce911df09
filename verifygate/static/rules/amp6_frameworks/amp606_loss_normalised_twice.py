"""A loss is divided by the number of micro-batches, and the framework divides it by the same number.

## What it does
Reports a division by the number of micro-batches in what is handed to `accelerator.backward`, if the Accelerator was
given `gradient_accumulation_steps`; in what an automatic `training_step` of a LightningModule returns, if the Trainer
was given `accumulate_grad_batches`; in what `compute_loss` of a subclass of transformers' Trainer returns; and in what
is handed to a DeepSpeed engine's backward.

- Certain if both numbers are the same one: the framework's own attribute, or a constant.
- Likely if the divisor is called like it, and in `compute_loss`, unless the project pins a transformers before 4.46.
- Not reported if the framework is told that the number is 1.

## Impact
The gradients are as many times too small as there are micro-batches in a window: with four, SGD trains at a quarter
of its learning rate.

## Why is this bad
The gradients are as many times too small as there are micro-batches. With SGD the learning rate is a quarter of what is
set; with Adam the clip and the decay of weights change against it.

## What happens at run time
Nothing raises, in any precision. The logged loss may be too small as well. transformers 4.46 multiplies the loss again;
later versions divide it only where the model takes no `**kwargs`, or the batch has no `labels`.
Seen with torch 2.13 and Accelerate 1.15.

## Example
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        with accelerator.accumulate(model):
            loss = loss_fn(model(inputs), targets) / accelerator.gradient_accumulation_steps
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
```

## Use instead
```python
from accelerate import Accelerator


def train(model, loss_fn, optimizer, batches):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model, optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in batches:
        with accelerator.accumulate(model):
            loss = loss_fn(model(inputs), targets)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
```

## Fix safety
No fix: the divided loss may be used elsewhere, and learning rates may have been tuned with it.

## What it cannot see
A division in a function that returns the loss.

## References
- https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
- https://lightning.ai/docs/pytorch/stable/common/trainer.html#accumulate-grad-batches
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.framework_names import DEEPSPEED, FABRIC, LIGHTNING, TRANSFORMERS
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.idioms.framework_loops import HOOK_WORDS, LOOP_WORDS, Does, GradientCalls
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

RULE = Rule(
    code="AMP606",
    name="loss-normalised-twice",
    severity=Severity.HIGH,
    summary="a loss is divided by the number of micro-batches, and the framework divides it by the same number",
    remedy="hand over the loss as it is: the framework divides it",
    words=(*LOOP_WORDS, *HOOK_WORDS),
    proof="update-norm",
)
_ITS_OWN = frozenset({"gradient_accumulation_steps", "accumulate_grad_batches"})
"""What frameworks call the number; a method of that name in DeepSpeed's engine."""
_CALLED_SO = r"(?i)accum"
_LEAVES_IT_TO_MODELS = "4.46"
"""The first version of transformers whose Trainer does not divide what a model has normalised by itself."""
_LOSS_HOOKS = {LIGHTNING: "training_step", TRANSFORMERS: "compute_loss"}


def check(analysis: Analysis) -> Iterable[Match]:
    """Divided losses that a framework divides again."""
    for function, found in GradientCalls(analysis).loops():
        for each in found:
            handle = each.handle
            if each.does is not Does.FRAMEWORK_BACKWARD or handle is None or handle.framework in (LIGHTNING, FABRIC):
                continue
            yield from _divided(each.subject, each.call, handle, function, analysis)
    for function in analysis.functions:
        if function.name in _LOSS_HOOKS.values() and function.owner is not None:
            framework = analysis.frameworks.host(function.owner)
            handle = analysis.frameworks.running(function)
            if framework is None or handle is None or _LOSS_HOOKS.get(framework) != function.name:
                continue
            if framework is LIGHTNING and analysis.frameworks.steps_itself(function.owner):
                continue
            told = set[ast.AST]()
            for loss in (loss for returned in function.returns for loss in _losses(returned)):
                for match in _divided(loss, loss, handle, function, analysis):
                    if match.place.node not in told:
                        told.add(match.place.node)
                        yield match


def _losses(returned: ast.expr) -> Iterator[ast.expr]:
    """What of a returned expression is the loss: it, the first of a tuple, an item of a dict."""
    match returned:
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_losses(body), *_losses(orelse))
        case ast.Tuple(elts=[first, *_]):
            yield first
        case ast.Dict(keys=keys, values=values):
            yield from (
                v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant) and k.value == "loss"
            )
        case _:
            yield returned


def _divided(loss: ast.expr, use: ast.expr, handle: Handle, function: Function, analysis: Analysis) -> Iterator[Match]:
    frame = analysis.evaluator.root_frame(function)
    for divided in _divisions(loss, function):
        certain = _is_the_same(_divisor(divided), handle, frame, analysis)
        if certain is None:
            continue
        place, name = Location(function, divided), handle.framework.name
        around = analysis.enclosing.conditions(divided, function)
        steps = ((place, "divided here"), (Location(function, use), f"divided by {name}"))
        message = f"`{statement_text(place)}` divides a loss that {name} divides by the number of micro-batches as well"
        always = certain and not around and handle.followed
        yield Match(place, message, certain=always and _always_divides(handle, place, analysis), steps=steps)


def _always_divides(handle: Handle, place: Location, analysis: Analysis) -> bool:
    """Whether a framework divides the loss whatever the model takes."""
    version = analysis.version_of(handle.framework, place.path)
    return handle.framework is not TRANSFORMERS or (version is not None and not version.reaches(_LEAVES_IT_TO_MODELS))


def _divisions(loss: ast.expr, function: Function) -> Iterator[ast.BinOp | ast.AugAssign]:
    """The divisions that a loss has gone through at the place where it is used."""
    match loss:
        case ast.BinOp(op=ast.Div()):
            yield loss
        case ast.Name(id=name):
            for binding in reaching(name, loss, function) or ():
                if binding.kind == "changed" and isinstance(binding.node, ast.AugAssign):
                    if isinstance(binding.node.op, ast.Div):
                        yield binding.node
                elif binding.kind == "value" and isinstance(binding.expr, ast.BinOp):
                    yield from _divisions(binding.expr, function)
        case ast.Subscript(slice=ast.Constant()):  # `losses["loss"] = losses["loss"] / number`
            text = ast.unparse(loss)
            for put in function.of_kind(ast.Assign):
                before = put.lineno < loss.lineno and ast.unparse(put.targets[0]) == text
                if before and isinstance(put.value, ast.BinOp) and isinstance(put.value.op, ast.Div):
                    yield put.value


def _divisor(divided: ast.BinOp | ast.AugAssign) -> ast.expr:
    return divided.right if isinstance(divided, ast.BinOp) else divided.value


def _is_the_same(divisor: ast.expr, handle: Handle, frame: Frame, analysis: Analysis) -> bool | None:
    """Whether a divisor surely is the number that a framework divides by; None where it is another, or it is 1."""
    keyword = handle.framework.divides_by
    given = [(each.given(keyword), each.frame) for each in handle.instances]
    in_settings = handle.framework is DEEPSPEED
    numbers = {analysis.frameworks.number(expr, home) if expr is not None else 1 for expr, home in given}
    if not in_settings and (not given or numbers == {1}):
        return None
    if isinstance(divisor, ast.Call) and last_name(divisor.func) in ("float", "int") and divisor.args:
        return _is_the_same(divisor.args[0], handle, frame, analysis)
    asked = divisor.func if isinstance(divisor, ast.Call) else divisor
    if (
        isinstance(asked, ast.Attribute)
        and asked.attr in _ITS_OWN
        and _is_its_own(asked.value, handle, frame, analysis)
    ):
        return 1 not in numbers or in_settings
    number = analysis.frameworks.number(divisor, frame)
    if number is not None:
        return True if number != 1 and numbers == {number} else None
    texts = {ast.unparse(expr) for expr, _ in given if expr is not None}
    names = (last_name(node) for node in walk(asked) if isinstance(node, ast.Name | ast.Attribute))
    named = any(re.search(_CALLED_SO, name) for name in names)
    return False if named or ast.unparse(divisor) in texts else None


def _is_its_own(owner: ast.expr, handle: Handle, frame: Frame, analysis: Analysis) -> bool:
    """Whether an attribute is the framework's: of the Accelerator, of the engine, of `self.trainer`, of `self.args`."""
    if handle.framework in (LIGHTNING, TRANSFORMERS):
        return ast.unparse(owner) in ("self.trainer", "self.args", "args")
    return analysis.frameworks.handle(owner, frame) is not None

"""A custom operator of torch.library says nothing about autocast.

## What it does
Reports a call, in an autocast region, of an operator that `torch.library.custom_op` or `triton_op` makes, whose forward
and backward multiply matrices, or whose forward launches Triton kernels that do, where nothing casts and no
`register_autocast` is called for the operator.

## Impact
The first backward stops with a dtype mismatch, or a kernel misreads its operands.

## Why is this bad
Autocast casts the operands of operators that it knows. A custom operator gets what is there: half activations beside
float32 weights. Operations of torch inside of its forward are still cast one by one, those of its backward are not, for
autocast is off there; and a Triton kernel sees the dtypes as they are.

## What happens at run time
Seen on torch 2.13 (CPU): the forward gives half precision, and the backward raises `expected m1 and m2 to have the same
dtype, but got: c10::Half != float`. A Triton kernel with `tl.dot` on two dtypes raises when it is compiled.

## Example
```python
import torch


@torch.library.custom_op("example::mixing", mutates_args=())
def mixing(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return inputs @ weight


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, gradient):
    inputs, weight = ctx.saved_tensors
    return gradient @ weight.T, inputs.T @ gradient


mixing.register_autograd(backward, setup_context=setup_context)


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            mixed = mixing(outputs, torch.eye(outputs.shape[-1]))
            loss = loss_fn(mixed, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


@torch.library.custom_op("example::mixing_cast", mutates_args=())
def mixing(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return inputs @ weight


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, gradient):
    inputs, weight = ctx.saved_tensors
    return gradient @ weight.T, inputs.T @ gradient


mixing.register_autograd(backward, setup_context=setup_context)
mixing.register_autocast("cuda", torch.float16)
mixing.register_autocast("cpu", torch.float16)


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            mixed = mixing(outputs, torch.eye(outputs.shape[-1]))
            loss = loss_fn(mixed, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: whether the operator should get half precision or float32 is the author's to say.

## What it cannot see
The dtypes of the arguments: findings are likely, never certain. Operators that `torch.library.Library` or C++ defines.

## References
- https://docs.pytorch.org/docs/stable/library.html#torch.library.register_autocast
- https://github.com/pytorch/pytorch/issues/136482
"""

import ast
import re
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.matrix_products import CASTS, launches_products, multiplies
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import FunctionValue

RULE = Rule(
    code="AMP111",
    name="custom-operator-without-autocast",
    severity=Severity.MEDIUM,
    summary="an operator of torch.library runs in an autocast region, and is registered for none",
    remedy="call `register_autocast(device_type, dtype)` of the operator, or cast its arguments to one dtype",
    words=("custom_op", "triton_op"),
    proof="raised-error",
)
_MAKERS = frozenset({"custom_op", "triton_op"})


@record(eq=False)
class Operator:
    """A function that is registered as an operator, by its qualified name."""

    function: Function
    name: str

    def is_meant(self, expr: ast.expr, function: Function, analysis: Analysis) -> bool:
        """Whether an expression is the operator: by its function, its qualified name, or below `torch.ops`."""
        if isinstance(expr, ast.Constant):
            return expr.value == self.name
        if last_name(expr) not in (self.function.name, "default") and not isinstance(expr, ast.Name):
            return False
        if isinstance(expr, ast.Attribute):
            text = ast.unparse(expr).removesuffix(".default")
            if text == f"torch.ops.{self.name.replace('::', '.')}":
                return True
        values = analysis.evaluator.values(expr, analysis.evaluator.root_frame(function))
        return any(isinstance(value, FunctionValue) and value.function is self.function for value in values)


def check(analysis: Analysis) -> Iterator[Match]:
    """The first call of each operator that a region covers."""
    operators = list(_operators(analysis))
    if not operators or not analysis.written_regions.some_active:
        return
    for operator in operators:
        reason = _reason(operator, analysis)
        if not reason or any(True for _ in _registrations("register_autocast", operator, analysis)):
            continue
        for call, function in analysis.calls:
            if function is operator.function or function.module.file.is_test:
                continue
            if not operator.is_meant(call.func, function, analysis):
                continue
            cover = analysis.region_coverage.cover(call, function)
            if cover is None or any(re.search(CASTS, ast.unparse(each)) for each in call.args):
                continue
            place = Location(function, call)
            made = Location(operator.function, operator.function.node)
            yield Match(
                place,
                f"`{statement_text(place)}` gets half and float32 operands as they come: `{operator.name}` {reason}, "
                "and is not registered for autocast",
                certain=False,
                steps=((made, "the operator"), (cover.region.place, "the region"), (place, "the call")),
                cause=operator.function.node,
            )
            break


def _operators(analysis: Analysis) -> Iterator[Operator]:
    for module in analysis.modules:
        if not module.mentions(b"custom_op", b"triton_op"):
            continue
        home = analysis.evaluator.module_frame(module)
        for function in module.all_functions:
            for decorator in getattr(function.node, "decorator_list", ()):
                match decorator:
                    case ast.Call(func=func, args=[ast.Constant(value=str() as name), *_]) if last_name(
                        func
                    ) in _MAKERS and analysis.roles.known_name(func, home).startswith("torch."):
                        yield Operator(function, name)


def _reason(operator: Operator, analysis: Analysis) -> str:
    """Why the dtypes of the operands matter to an operator; empty where they do not, or it is written for several."""
    if re.search(CASTS, ast.unparse(operator.function.node)):
        return ""
    if launches_products(operator.function, analysis):
        return "launches Triton kernels that multiply matrices"
    if not multiplies(operator.function):
        return ""
    for call, function in _registrations("register_autograd", operator, analysis):
        given = [each for each in call.args if not operator.is_meant(each, function, analysis)]
        for value in analysis.evaluator.values(given[0], analysis.evaluator.root_frame(function)) if given else ():
            if isinstance(value, FunctionValue) and multiplies(value.function):
                casts = re.search(CASTS, ast.unparse(value.function.node))
                return "" if casts else "multiplies matrices in its backward"
    return ""


def _registrations(method: str, operator: Operator, analysis: Analysis) -> Iterator[tuple[ast.Call, Function]]:
    """The calls that register something for an operator: by its own method, or by torch.library's function."""
    for module in analysis.modules:
        for function in module.all_functions if module.mentions(method.encode()) else ():
            for call in function.calls:
                if not isinstance(call.func, ast.Attribute | ast.Name) or last_name(call.func) != method:
                    continue
                owner = call.func.value if isinstance(call.func, ast.Attribute) else None
                first = call.args[0] if call.args else None
                if any(each is not None and operator.is_meant(each, function, analysis) for each in (owner, first)):
                    yield call, function

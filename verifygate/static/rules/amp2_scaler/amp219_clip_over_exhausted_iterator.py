"""Gradients are clipped over an iterator that has been used up.

## What it does
Reports `clip_grad_norm_` and `clip_grad_value_` over a variable that holds a generator (`model.parameters()`,
`filter`, `chain`, `map`, a generator expression) which something before it has consumed: an optimizer, a list, a
loop, another clip, or the same clip in an earlier turn of a loop.

## Why is this bad
A generator gives its items once. The clip gets none, so nothing is clipped, and the norm it returns is 0.

## What happens at run time
`clip_grad_norm_` is silent and returns 0; `clip_grad_value_` raises (torch 2.13).

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    parameters = model.parameters()
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, 0.01)
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    parameters = list(model.parameters())
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, 0.01)
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: `list(...)` where the variable is bound is right nearly always, but changes what a clip does.

## What it cannot see
Generators handed to other functions, and attributes that hold one.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static import torch_api
from verifygate.static.analysis import Analysis
from verifygate.static.graph import Place
from verifygate.static.program import Class, Function
from verifygate.static.roles import last_name
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.values import FunctionValue

RULE = Rule(
    code="AMP219",
    name="clip-over-exhausted-iterator",
    severity=Severity.HIGH,
    summary="a clip over a generator that was consumed before",
    remedy="make a list of the parameters where the variable is bound: `list(model.parameters())`",
    words=("clip_grad",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="final-weights",
)

_LAZY = frozenset({"builtins.filter", "builtins.map", "itertools.chain", "itertools.chain.from_iterable"})
_PEEKS = frozenset({"print", "isinstance", "type", "id", "iter"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Clips over generators: local ones, and those that an object keeps."""
    for call, function in analysis.calls:
        if last_name(call.func) not in torch_api.CLIP_FUNCTIONS:
            continue
        named = next((word.value for word in call.keywords if word.arg == "parameters"), None)
        match call.args[0] if call.args else named:
            case ast.Name(id=name):
                consumed = _consumed(call, name, function, analysis)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.owner is not None:
                consumed = _consumed_of_object(name, function, function.owner, analysis)
            case _:
                continue
        if consumed:
            place = Place(function, call)
            yield Match(place, f"`{statement_text(place)}` gets no parameters: {consumed}")


def _consumed(call: ast.Call, name: str, function: Function, analysis: Analysis) -> str:
    """What used the generator up before the clip; empty where nothing surely did, or where it is no generator."""
    bindings = function.scope.names.get(name, [])
    if len(bindings) != 1 or bindings[0].kind != "value" or name in function.scope.outer:
        return ""
    bound = bindings[0]
    if bound.expr is None or not _is_generator(bound.expr, function, analysis):
        return ""
    conditions = set(analysis.nesting.conditions(call, function))
    turns = analysis.nesting.loops(bound.node, function)
    for node in function.own_nodes:
        line = getattr(node.iter if isinstance(node, ast.comprehension) else node, "lineno", 0)
        if not bound.node.lineno < line < call.lineno or not _uses_up(node, name):  # type: ignore[attr-defined]
            continue
        if set(analysis.nesting.conditions(node, function)) <= conditions:
            return f"line {line} has used up the generator `{name}`"
    again = [loop for loop in analysis.nesting.loops(call, function) if loop not in turns]
    return f"after the first turn of the loop the generator `{name}` is used up" if again else ""


def _consumed_of_object(name: str, function: Function, owner: Class, analysis: Analysis) -> str:
    """What used up a generator that an object keeps: an optimizer that is made of it."""
    bindings = owner.attributes.get(name, [])
    if len(bindings) != 1 or bindings[0][0].kind != "value" or bindings[0][1] is function:
        return ""
    expr, home = bindings[0][0].expr, bindings[0][1]
    if expr is None or home is None or not _gives_generator(expr, home, analysis):
        return ""
    for method in owner.methods.values():
        for call in method.calls:
            given = (*call.args, *(word.value for word in call.keywords))
            kept = any(isinstance(each, ast.Attribute) and ast.unparse(each) == f"self.{name}" for each in given)
            if kept and "optim" in last_name(call.func).lower():
                return f"the optimizer made in line {call.lineno} has used up the generator `self.{name}`"
    return ""


def _gives_generator(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether an expression is a generator, or calls a function of the project that returns one."""
    if _is_generator(expr, function, analysis):
        return True
    callees = (
        analysis.evaluator.callees(expr, analysis.evaluator.root_frame(function)) if isinstance(expr, ast.Call) else ()
    )
    return bool(callees) and all(_returns_generator(callee.function, analysis) for callee in callees)


def _returns_generator(function: Function, analysis: Analysis) -> bool:
    found = [
        bound
        for result in function.returns
        for bound in (function.scope.names.get(result.id, []) if isinstance(result, ast.Name) else [])
    ]
    made = [each.expr for each in found if each.kind == "value" and each.expr is not None]
    made += [result for result in function.returns if isinstance(result, ast.Call)]
    return bool(made) and all(_is_generator(each, function, analysis) for each in made)


def _is_generator(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    if isinstance(expr, ast.GeneratorExp):
        return True
    if not isinstance(expr, ast.Call):
        return False
    frame = analysis.evaluator.root_frame(function)
    if analysis.roles.known_name(expr.func, frame) in _LAZY:
        return True
    if not (isinstance(expr.func, ast.Attribute) and expr.func.attr == "parameters"):
        return False
    values = analysis.evaluator.values(expr.func, frame)
    return not any(isinstance(value, FunctionValue) for value in values)


def _uses_up(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.For | ast.comprehension):
        return isinstance(node.iter, ast.Name) and node.iter.id == name
    if not isinstance(node, ast.Call) or last_name(node.func) in _PEEKS:
        return False
    given = [*node.args, *(word.value for word in node.keywords)]
    known = last_name(node.func) in torch_api.CLIP_FUNCTIONS | {"list", "tuple", "sum", "set", "sorted", "max", "min"}
    makes_optimizer = "optim" in ast.unparse(node.func).lower()
    return (known or makes_optimizer) and any(isinstance(each, ast.Name) and each.id == name for each in given)

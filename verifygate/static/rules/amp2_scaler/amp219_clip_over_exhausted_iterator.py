"""Gradients are clipped over an iterator that has been used up.

## What it does
Reports `clip_grad_norm_` and `clip_grad_value_` over a variable that holds a consumed generator (`model.parameters()`,
`filter`, `chain`, `map`, a generator expression). It was consumed by an optimizer, a list, a loop, another clip, or the
same clip in an earlier iteration. Also reported is other code that iterates over a generator after a clip has.

## Why is this bad
A generator gives its items once. The clip gets none, so nothing is clipped, and the norm it returns is 0. What comes
after a clip gets none either (of medium severity): a decay of the weights, say, that never happens.

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
What a function of the project does with a generator, but for a loop over it; attributes that hold a generator which no
optimizer has gone through. Parameters of functions that nothing in sight calls.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

import ast
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.model import Severity, Witness
from verifygate.naming import speaks_of_an_optimizer
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Frame, FunctionValue

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
_CONSUMERS = frozenset({"list", "tuple", "sum", "set", "sorted", "max", "min"})
_PEEKS = frozenset({"print", "isinstance", "type", "id", "iter"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Clips over generators that a variable or an object holds, and what goes through one after a clip."""
    for call, function in analysis.calls:
        if last_name(call.func) not in torch_names.CLIP_FUNCTIONS:
            continue
        named = next((word.value for word in call.keywords if word.arg == "parameters"), None)
        match call.args[0] if call.args else named:
            case ast.Name(id=name) if (surely := _holds_generator(name, function, analysis)) is not None:
                empty = _finds_empty(call, name, function, analysis)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.owner is not None:
                surely, empty = True, (call, _consumed_of_object(name, function, function.owner, analysis))
            case _:
                continue
        node, consumed = empty
        if consumed:
            place = Location(function, node)
            severity = None if node is call else Severity.MEDIUM  # the clip itself does its work
            message = f"`{statement_text(place)}` gets no parameters: {consumed}"
            yield Match(place, message, certain=surely, severity=severity)


def _holds_generator(name: str, function: Function, analysis: Analysis) -> bool | None:
    """Whether a variable holds a generator: True for surely, False where only some callers give one, else None."""
    bindings = function.scope.names.get(name, [])
    if len(bindings) != 1 or name in function.scope.outer:
        return None
    held = bindings[0]
    if held.kind == "value" and held.expr is not None:
        return True if _is_generator(held.expr, function, analysis) else None
    if held.kind != "parameter":
        return None
    bounds = analysis.call_graph.given(name, function)
    given = [_is_generator(bound.expr, bound.frame.function, analysis) for _, bound in bounds]
    return all(given) if any(given) else None


def _finds_empty(clip: ast.Call, name: str, function: Function, analysis: Analysis) -> tuple[ast.AST, str]:
    """What gets nothing of a generator, the clip or what goes through it next, and why; empty where neither surely."""
    bound = function.scope.names[name][0].node
    for node in function.own_nodes:
        line = getattr(node.iter if isinstance(node, ast.comprehension) else node, "lineno", 0)
        if node is clip or line <= bound.lineno or not _uses_up(node, name, function, analysis):  # type: ignore[attr-defined]
            continue
        first, second = (node, clip) if line < clip.lineno else (clip, node)
        before, after = (set(analysis.enclosing.conditions(each, function)) for each in (first, second))
        if before <= after:
            return second, f"line {min(line, clip.lineno)} has used up the generator `{name}`"
    turns = analysis.enclosing.loops(bound, function)
    again = [loop for loop in analysis.enclosing.loops(clip, function) if loop not in turns]
    return clip, f"after the first turn of the loop the generator `{name}` is used up" if again else ""


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
            if kept and speaks_of_an_optimizer(last_name(call.func)):
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


def _uses_up(node: ast.AST, name: str, function: Function, analysis: Analysis) -> bool:
    """Whether a node goes through all that a variable holds: a loop, or a call of what loops over it."""
    if isinstance(node, ast.For | ast.comprehension):
        return isinstance(node.iter, ast.Name) and node.iter.id == name
    if not isinstance(node, ast.Call) or last_name(node.func) in _PEEKS:
        return False
    given = [*node.args, *(word.value for word in node.keywords)]
    if not any(isinstance(each, ast.Name) and each.id == name for each in given):
        return False
    known = last_name(node.func) in torch_names.CLIP_FUNCTIONS | _CONSUMERS or speaks_of_an_optimizer(
        ast.unparse(node.func)
    )
    return known or any(_loops_over_given(name, entered) for entered in analysis.call_graph.entered(node, function))


def _loops_over_given(name: str, entered: Frame) -> bool:
    """Whether a function loops over the parameter for which a call of it gives a variable."""
    parameters = {
        parameter
        for parameter, bound in entered.arguments.items()
        if isinstance(bound.expr, ast.Name) and bound.expr.id == name
    }
    function = entered.function
    drawn = [loop.iter for loop in function.of_kind(ast.For)]
    drawn += [loop.iter for loop in function.of_kind(ast.comprehension)]
    return any(isinstance(each, ast.Name) and each.id in parameters for each in drawn)

"""Gradients are clipped over an iterator that has been used up.

## What it does
Reports `clip_grad_norm_` and `clip_grad_value_` over a variable that holds a consumed generator (`model.parameters()`,
`filter`, `chain`, `map`, `iter`, a generator expression). It was consumed by an optimizer, a list, a sum, a loop,
another clip, or the same clip in an earlier iteration. Where `any`, `all` or a loop that may be left early has gone
through it, the finding is likely: the clip may then miss only what came before. Also reported is other code that
iterates over a generator after a clip has.

## Impact
Nothing is clipped: `clip_grad_norm_` returns 0, and warns at most.

## Why is this bad
A generator gives its items once. The clip gets none, so nothing is clipped, and the norm it returns is 0. What comes
after a clip gets none either (of medium severity): a decay of the weights, say, that never happens.

## What happens at run time
`clip_grad_norm_` returns 0: with a UserWarning for a generator (torch 2.13), silently for another iterator, and on
earlier versions. `clip_grad_value_` raises (torch 2.13).

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
What a function of the project does with a generator, but for a loop over it; a single `next(...)`; attributes that
hold a generator which no optimizer has gone through. Parameters of functions that nothing in sight calls.

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
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
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

_LAZY = frozenset(
    {f"builtins.{name}" for name in ("filter", "map", "iter", "zip", "enumerate", "reversed")}
    | {f"itertools.{name}" for name in ("chain", "chain.from_iterable", "islice", "takewhile", "filterfalse")}
)
_CONSUMERS = frozenset(
    {f"builtins.{name}" for name in ("list", "tuple", "sum", "set", "frozenset", "sorted", "max", "min", "dict")}
)
"""Functions that go through the whole of what they are given."""
_SEARCHES = frozenset({"builtins.any", "builtins.all"})
"""Functions that go through what they are given until they have found something."""
_PEEKS = frozenset({"print", "isinstance", "type", "id"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Clips over generators that a variable or an object holds, and what goes through one after a clip."""
    for call, function in analysis.calls:
        if last_name(call.func) not in torch_names.CLIP_FUNCTIONS:
            continue
        named = next((word.value for word in call.keywords if word.arg == "parameters"), None)
        match _drawn_from(call.args[0] if call.args else named, function, analysis):
            case ast.Name() as held if (surely := _holds_generator(held, function, analysis)) is not None:
                node, consumed, whole = _finds_empty(call, held, function, analysis)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.owner is not None:
                node, consumed = call, _consumed_of_object(name, function, function.owner, analysis)
                surely = whole = True
            case _:
                continue
        if consumed:
            place = Location(function, node)
            severity = None if node is call else Severity.MEDIUM  # the clip itself does its work
            gets = "gets no parameters" if whole else "may get no parameters, or not the first ones"
            message = f"`{statement_text(place)}` {gets}: {consumed}"
            yield Match(place, message, certain=surely and whole, severity=severity)


def _drawn_from(expr: ast.expr | None, function: Function, analysis: Analysis) -> ast.expr | None:
    """What lazy functions and generator expressions around it draw from: `params` of `filter(f, params)`."""
    while True:
        match expr:
            case ast.GeneratorExp(generators=[first, *_]):
                expr = first.iter
            case ast.Call(args=[*_, last]) if _known(expr, function, analysis) in _LAZY:
                expr = last
            case _:
                return expr


def _holds_generator(held: ast.Name, function: Function, analysis: Analysis) -> bool | None:
    """Whether a variable holds a generator: True for surely, False where only some callers give one, else None."""
    binding = _bound(held, function)
    if binding is None:
        return None
    if binding.kind == "value" and binding.expr is not None:
        return True if _gives_generator(binding.expr, function, analysis) else None
    if binding.kind != "parameter":
        return None
    bounds = analysis.call_graph.given(held.id, function)
    given = [_is_generator(bound.expr, bound.frame.function, analysis) for _, bound in bounds]
    return all(given) if any(given) else None


def _bound(use: ast.Name, function: Function) -> Binding | None:
    """The one definition that reaches a use of a local name."""
    found = reaching(use.id, use, function) if use.id not in function.scope.outer else None
    return found[0] if found and len(found) == 1 else None


def _finds_empty(clip: ast.Call, held: ast.Name, function: Function, analysis: Analysis) -> tuple[ast.AST, str, bool]:
    """What gets nothing of a generator, the clip or what goes through it next, why, and whether it surely does."""
    bound, given = _bound(held, function), set(walk(clip))
    names = (each for each in function.own_nodes if isinstance(each, ast.Name))
    uses = (each for each in names if each.id == held.id and each not in given)
    for use in uses:
        user = _user(use, function, analysis) if _bound(use, function) is bound else None
        if user is None:
            continue
        node, whole = user
        line = use.lineno
        first, second = (node, clip) if line < clip.lineno else (clip, node)
        before, after = (set(analysis.enclosing.conditions(each, function)) for each in (first, second))
        if before <= after:
            text = f"line {min(line, clip.lineno)} has used up the generator `{held.id}`"
            return second, text, whole or second is node
    at = bound.node if bound is not None else clip
    turns = analysis.enclosing.loops(at, function)
    again = [loop for loop in analysis.enclosing.loops(clip, function) if loop not in turns]
    text = f"after the first iteration of the loop the generator `{held.id}` is used up" if again else ""
    return clip, text, True


def _user(use: ast.expr, function: Function, analysis: Analysis) -> tuple[ast.AST, bool] | None:
    """What goes through all that an iterator holds, and whether it surely does; lazy functions do not by themselves."""
    expr: ast.AST = use
    for ancestor in analysis.enclosing.around(use, function):
        node = ancestor.node
        match node:
            case ast.For() | ast.AsyncFor() if node.iter is expr:
                leaves = any(isinstance(part, ast.Break | ast.Return) for inner in node.body for part in walk(inner))
                return node, not leaves
            case ast.comprehension() | ast.GeneratorExp():
                if isinstance(node, ast.comprehension) and node.iter is not expr:
                    return None
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.Starred():
                return node, True
            case ast.Call():
                name = _known(node, function, analysis)
                if name not in _LAZY:
                    return _user_by_call(node, name, expr, function, analysis)
            case _:
                return None
        expr = node
    return None


def _user_by_call(
    call: ast.Call, name: str, given: ast.AST, function: Function, analysis: Analysis
) -> tuple[ast.AST, bool] | None:
    """Whether a call goes through an iterator that it is given."""
    if name in _CONSUMERS or last_name(call.func) in torch_names.CLIP_FUNCTIONS:
        return call, True
    if name in _SEARCHES:
        return call, False
    if name == "builtins.next":  # all of them, one by one
        return (call, False) if analysis.enclosing.loops(call, function) else None
    if last_name(call.func) in _PEEKS or isinstance(given, ast.GeneratorExp):
        return None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "extend":
        return call, True
    if speaks_of_an_optimizer(ast.unparse(call.func)):
        return call, True
    entered = analysis.call_graph.entered(call, function) if isinstance(given, ast.Name) else ()
    return (call, True) if any(_loops_over_given(given.id, each) for each in entered) else None  # type: ignore[attr-defined]


def _known(call: ast.Call, function: Function, analysis: Analysis) -> str:
    """The outside name that a call surely calls, or the empty string."""
    return analysis.roles.known_name(call.func, analysis.evaluator.root_frame(function))


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
    functions = [callee.function for callee in callees]
    return bool(functions) and all(each.is_generator or _returns_generator(each, analysis) for each in functions)


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
    if _known(expr, function, analysis) in _LAZY:
        return True
    if not (isinstance(expr.func, ast.Attribute) and expr.func.attr == "parameters"):
        return False
    frame = analysis.evaluator.root_frame(function)
    values = analysis.evaluator.values(expr.func, frame)
    return not any(isinstance(value, FunctionValue) for value in values)


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

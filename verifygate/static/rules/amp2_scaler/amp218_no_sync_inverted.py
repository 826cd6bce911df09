"""A step is made of gradients that DistributedDataParallel has not averaged, or each micro-batch averages them.

## What it does
Reports `with model.no_sync():` around a backward whose forward ran outside of it, and `no_sync()` around the
micro-batch that steps: with the step inside, under the same condition as the step, or in the last iteration of a loop.
Also `model.require_backward_grad_sync`, the flag behind it, where it is set between a forward and its backward; and a
forward past the wrapper, `model.module(inputs)`, whose output goes backward to a step of its weights, in a function
that neither calls the wrapper nor hands it on to what cannot be followed, and reduces nothing by itself. A run shows it
where the ranks clip by different norms and no forward of the wrapper came before their step.

## Impact
Each micro-batch still crosses the network, or the ranks step with gradients of their own and end with different
weights.

## Why is this bad
DistributedDataParallel decides at the forward whether the backward will all-reduce. A forward outside `no_sync` arms
the reducer, so the gradients of every micro-batch cross the network although `no_sync` was to save that. Around the
stepping micro-batch it is worse: the ranks step with gradients that they never shared, and drift apart. So they do
where the wrapped module is called by itself: only the wrapper's forward arms the reducer.

## What happens at run time
Silent (torch 2.13, two gloo ranks): a forward outside `no_sync` still all-reduces although its backward is inside; with
the step inside, or the forward past the wrapper, nothing is sent, and the ranks end with different weights.

## Example
```python
import torch
from torch.nn.parallel import DistributedDataParallel


def train(model, loss_fn, optimizer, scaler, batches, device):
    model = DistributedDataParallel(model)
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / 2
        if number % 2 != 0 and number != len(batches):
            with model.no_sync():
                scaler.scale(loss).backward()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Use instead
```python
import torch
from torch.nn.parallel import DistributedDataParallel


def train(model, loss_fn, optimizer, scaler, batches, device):
    model = DistributedDataParallel(model)
    for number, (inputs, targets) in enumerate(batches, 1):
        if number % 2 != 0 and number != len(batches):
            with model.no_sync():
                with torch.autocast(device, dtype=torch.float16):
                    loss = loss_fn(model(inputs), targets) / 2
                scaler.scale(loss).backward()
        else:
            with torch.autocast(device, dtype=torch.float16):
                loss = loss_fn(model(inputs), targets) / 2
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
```

## Fix safety
No automatic fix: the forward has to move into the region.

## What it cannot see
A forward past the wrapper is likely at most in the source: what else averages the gradients is known by names alone.
Forwards in another function, except for those whose loss is passed on; `no_sync` entered by hand or by a framework. A
run without clips has no norms to compare.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.naming import names_a_loss, speaks_of_a_step, speaks_of_a_window
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.ddp_bypass import forwards_past_ddp
from verifygate.static.idioms.gradient_sync_flags import late_flags
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

RULE = Rule(
    code="AMP218",
    name="no-sync-inverted",
    severity=Severity.MEDIUM,
    summary="no_sync() around a backward without its forward, or around the step; a forward past DDP",
    remedy="put the forward and the backward of every micro-batch but the last one under `no_sync()`",
    words=("no_sync", "require_backward_grad_sync", "DistributedDataParallel"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="gradients-sent",
)


"""A condition on which of the micro-batches it is, by its words; `if use_amp` is none."""
_INVERTED = "keeps the micro-batch that steps from being synchronised"
_Fact = tuple[ast.expr, bool]
"""A condition, and whether it holds."""


def check(analysis: Analysis) -> Iterator[Match]:
    """Every `with model.no_sync()`, every place where its flag is set by hand, and forwards past the wrapper."""
    for function in analysis.functions:
        if function.module.mentions(b"DistributedDataParallel"):
            yield from forwards_past_ddp(function, analysis)
        if function.module.mentions(b"require_backward_grad_sync"):
            yield from late_flags(function, analysis)
        for node in function.withs:
            for item in node.items:
                for context in _contexts(item.context_expr, function):
                    if (unsynced := _unsynced(context)) is None:
                        continue
                    place = Location(function, context)
                    if said := _judge(node, place, unsynced[0], unsynced[1], analysis):
                        yield Match(place, f"`{statement_text(place)}` {said}")
                    elif said := _judge_by_others(node, place, unsynced[1], analysis):
                        yield Match(place, f"`{statement_text(place)}` {said}", certain=False)


def _contexts(expr: ast.expr, function: Function) -> list[ast.expr]:
    """The context of a `with`, or what its name may stand for: `context = model.no_sync if ... else nullcontext`."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and not expr.args:
        bound = (binding.expr for binding in function.scope.names.get(expr.func.id, ()))
        return [each for each in bound if isinstance(each, ast.IfExp)]
    return [_named(expr, function)]


def _judge_by_others(block: ast.With | ast.AsyncWith, place: Location, chosen: list[_Fact], analysis: Analysis) -> str:
    """The same, where another function runs the forward or steps; empty where nothing is wrong."""
    function = place.function
    if any(_is_off_by_one(*fact, block, function, analysis) for fact in chosen):
        return "leaves out the first micro-batch of a window, and not the last one, which steps"
    decided = [*chosen, *analysis.enclosing.conditions(block, function)]
    if _calls(block, "backward") and any(_is_last_where(*fact, block, function, analysis) for fact in decided):
        return _INVERTED
    if _holds_all_before_a_step(block, function):
        return "keeps every micro-batch before the step from being synchronised"
    derived = {node.id for call in _own_calls(block) for node in walk(call) if isinstance(node, ast.Name)}
    given = derived & {parameter.arg for parameter in function.parameters}
    inside = any(not _is_backward(node) for node in _own_calls(block))
    sites = analysis.call_graph.sites(function)
    if _calls(block, "backward") and any(map(names_a_loss, given)) and not inside and sites:
        held = (context for site in sites for context in analysis.enclosing.contexts(site.call, site.caller))
        if not any("no_sync" in ast.unparse(_named(context, function)) for context in held):
            return "comes after the forward, which decides on the all-reduce"
    return ""


def _holds_all_before_a_step(block: ast.With | ast.AsyncWith, function: Function) -> bool:
    """Whether all backwards of a function stand in a loop in the region, and a step comes after it."""
    inside = {node for statement in block.body for node in walk(statement)}
    looped = {node for loop in function.of_kind(ast.For) if loop in inside for node in walk(loop)}
    backwards = [call for call in function.calls if last_name(call.func) == "backward"]
    after = [call for call in function.calls if call.lineno > (block.end_lineno or 0)]
    steps = any(last_name(call.func) == "step" and speaks_of_a_step(ast.unparse(call)) for call in after)
    reduces = any(re.search(r"(?i)reduce|sync", last_name(call.func)) for call in after)
    return steps and not reduces and bool(backwards) and all(call in looped for call in backwards)


def _is_off_by_one(test: ast.expr, holds: bool, block: ast.AST, function: Function, analysis: Analysis) -> bool:
    """`index % n != 0` for an index counted from 0, where a step of the same class is at `(index + 1) % n == 0`."""
    match test:
        case ast.Compare(
            left=ast.BinOp(left=ast.Name(id=index), op=ast.Mod(), right=length),
            ops=[ast.NotEq() | ast.Eq() as op],
            comparators=[ast.Constant(value=0)],
        ) if isinstance(op, ast.NotEq) == holds and _counts_from_zero(index, block, function, analysis):
            name = last_name(length)
        case _:
            return False
    others = [each for each in analysis.functions if each.module is function.module and each.owner is function.owner]
    return bool(name) and any(
        _is_end_of_window(fact, name) for each in others for fact, _ in _step_facts(each, analysis)
    )


def _is_end_of_window(test: ast.expr, length: str) -> bool:
    match test:
        case ast.Compare(
            left=ast.BinOp(left=ast.BinOp(op=ast.Add(), right=ast.Constant(value=1)), op=ast.Mod(), right=other),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            return last_name(other) == length
    return False


def _counts_from_zero(index: str, block: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether a variable is that of an `enumerate` without a start, around a place."""
    for loop in analysis.enclosing.loops(block, function):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=name), *_]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]),
            ) if name == index:
                return True
    return False


def _judge(
    block: ast.With | ast.AsyncWith, place: Location, model: ast.expr, chosen: list[_Fact], analysis: Analysis
) -> str:
    """What is wrong with a region that skips the all-reduce of a model; empty where nothing is."""
    function = place.function
    if _calls(block, "step"):
        return "" if chosen else _INVERTED
    decided = [*chosen, *analysis.enclosing.conditions(block, function)]
    if _calls(block, "backward") and any(_is_last(*fact, block, function, analysis) for fact in decided):
        return _INVERTED
    name = ast.unparse(model)
    loops = analysis.enclosing.loops(block, function)
    forwards = [
        node
        for node in function.calls
        if ast.unparse(node.func) == name and analysis.enclosing.loops(node, function) == loops
    ]
    outside = any(call.lineno < block.lineno for call in forwards)
    inside = any(not _is_backward(node) for node in _own_calls(block))
    if _calls(block, "backward") and outside and not inside:
        return f"comes after the forward of `{name}`, which decides on the all-reduce"
    return ""


def _is_last(test: ast.expr, holds: bool, block: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether a condition, as it turns out there, picks the micro-batch that steps.

    It does where a step stands under the same condition, and where it asks for the last iteration of the loop.
    """
    if any(_same(test, holds, *fact) for fact in _step_facts(function, analysis)):
        return True
    match _named(test, function):
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _is_last(inner, not holds, block, function, analysis)
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.Or) == holds:
            return any(_is_last(part, holds, block, function, analysis) for part in parts)
        case ast.Compare(left=ast.Name(id=index), ops=[op], comparators=[bound]) if _is_size_less_one(bound):
            counts = any(
                isinstance(name, ast.Name) and name.id == index
                for loop in analysis.enclosing.loops(block, function)
                for name in walk(getattr(loop, "target", loop))
            )
            return counts and holds == isinstance(op, ast.Eq | ast.GtE) and isinstance(op, _AT_THE_END)
    return False


def _is_last_where(test: ast.expr, holds: bool, block: ast.AST, function: Function, analysis: Analysis) -> bool:
    """Whether a condition picks the micro-batch that steps where a setting is on: `distributed and is_last`.

    Likely only: what else is asked for may also be the count of another loop.
    """
    test = _named(test, function)
    if not (holds and isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
        return False
    last = [part for part in test.values if _is_last(part, True, block, function, analysis)]
    others = [part for part in test.values if part not in last]
    return bool(last) and not any(speaks_of_a_window(ast.unparse(_named(part, function))) for part in others)


_AT_THE_END = (ast.Eq, ast.GtE, ast.Lt, ast.NotEq)


def _is_size_less_one(bound: ast.expr) -> bool:
    """Whether an expression is `len(batches) - 1`."""
    match bound:
        case ast.BinOp(left=ast.Call(func=ast.Name(id="len")), op=ast.Sub(), right=ast.Constant(value=1)):
            return True
    return False


def _step_facts(function: Function, analysis: Analysis) -> Iterator[_Fact]:
    """The conditions under which the function steps, each part of an `and` for itself."""
    for call in function.calls:
        if _is_step(call, function, analysis):
            for test, holds in analysis.enclosing.conditions(call, function):
                yield from ((part, True) for part in _parts(test)) if holds else ((test, False),)


def _is_step(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether a call steps an optimizer, or a scaler its optimizer, by their names or by what they are."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    if speaks_of_a_step(ast.unparse(call)):
        return True
    frame = analysis.evaluator.root_frame(function)
    holder = call.func.value
    return analysis.roles.scaler(holder, frame) is not None or analysis.roles.is_optimizer(holder, frame)


def _parts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _same(one: ast.expr, holds: bool, other: ast.expr, other_holds: bool) -> bool:
    """Whether two conditions are one that may change from iteration to iteration, and come out alike."""
    counts = speaks_of_a_window(ast.unparse(one))
    return counts and ast.dump(one) == ast.dump(other) and holds == other_holds


def _named(expr: ast.expr, function: Function) -> ast.expr:
    """What a name that is bound once stands for."""
    bindings = function.scope.names.get(expr.id, ()) if isinstance(expr, ast.Name) else ()
    only = bindings[0] if len(bindings) == 1 else None
    return only.expr if only is not None and only.kind == "value" and only.expr is not None else expr


def _own_calls(block: ast.With | ast.AsyncWith) -> Iterator[ast.Call]:
    for statement in block.body:
        yield from (node for node in walk(statement) if isinstance(node, ast.Call))


def _is_backward(call: ast.Call) -> bool:
    return last_name(call.func) in ("backward", "scale", "scale_loss", "div", "item", "float")


def _calls(block: ast.With | ast.AsyncWith, method: str) -> bool:
    """Whether a block calls a method of a name, or the project's own, as `self._backward(loss)`."""
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr.removeprefix("_") == method
        for call in _own_calls(block)
    )


def _unsynced(context: ast.expr) -> tuple[ast.expr, list[_Fact]] | None:
    """The model of `model.no_sync()`, and the conditions of the conditional expressions of which that is one arm."""
    if isinstance(context, ast.IfExp):
        for arm, holds in ((context.body, True), (context.orelse, False)):
            if (found := _unsynced(arm)) is not None:
                return found[0], [(context.test, holds), *found[1]]
    called = context.func if isinstance(context, ast.Call) else context
    if isinstance(called, ast.Attribute) and called.attr == "no_sync":
        return called.value, []
    return None

"""Losses are kept together with their graphs.

## What it does
Reports losses that are summed up or collected over a loop with their graphs (`total += loss`,
`losses.append(loss)`, `history["loss"].append(loss)`, a dict that holds one, `meter.update(loss)` of an object of the
project that adds it to its sum), where what is kept is never differentiated itself. A loss may be handed out by the
function that takes the step, and the loop of an evaluation may count (`for _ in range(n)`) where its function says that
it evaluates, or nobody who calls it differentiates what it gives.

## Impact
Without a backward memory grows with every batch, by 68 MB over 40 small ones, until it runs out.

## Why is this bad
A loss tensor holds the graph that made it. In evaluation without `no_grad()` no backward ever frees that graph, so the
activations of every batch stay in memory until the sum is dropped. Behind a backward the activations are freed, and
only a few small nodes per step are kept.

## What happens at run time
Without a backward memory grows with every batch (seen on torch 2.13, CPU: 68 MB over 40 small batches) until it runs
out. Behind a backward about a dozen graph nodes a step stay: the numbers are the same, the list of nodes grows.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    model.eval()
    total = 0.0
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        total += loss
    return total
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for inputs, targets in batches:
            with torch.autocast(device, dtype=torch.float16):
                loss = loss_fn(model(inputs), targets)
            total += loss
    return total
```

## Fix safety
Safe behind a backward, which has freed the graph: nobody can differentiate the sum, so `.detach()` changes no number.
Unsafe in an evaluation, whose caller may want to, and in files that keep graphs with `retain_graph` or `create_graph`.

## What it cannot see
Losses kept inside objects of libraries, or that a variable alone leads to (`meters[name].update(loss)`), and names that
are bound to a detached value as well: it stays silent there. An evaluation is certain only where all its callers are
known, none turns autograd off, its decorators are followed, and the model that it runs is built in sight.

## References
- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
"""

import ast
from collections.abc import Iterable

from verifygate.model import Applicability, Severity
from verifygate.static.amp.autograd_contexts import Decorated, decorated
from verifygate.static.analysis import Analysis
from verifygate.static.facts.autograd_mode import CallerMode, is_off
from verifygate.static.facts.hot_loops import HotLoop
from verifygate.static.facts.step_tensors import StepTensors, carries, is_loss_call, names_in
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding, bound_targets
from verifygate.static.symbols.sites import ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Object

RULE = Rule(
    code="PERF110",
    name="graph-retained",
    severity=Severity.HIGH,
    summary="losses are kept together with their graphs",
    remedy="keep `loss.detach()`, and evaluate under `torch.no_grad()`",
    words=("autocast", "GradScaler", "unscale_", "DataLoader"),
    fix=Applicability.SAFE,
    proof="graph-growth",
)

_FROZEN = (b"requires_grad_(False)", b"requires_grad = False", b"requires_grad=False")
_ADDS = frozenset({"append", "extend", "appendleft", "add"})


def check(analysis: Analysis) -> Iterable[Match]:
    """Sums and lists of losses that outlive an iteration of a hot loop, or of one that counts evaluations."""
    seen = set()
    counted = analysis.counted_evaluations
    for loop in (*analysis.hot_loops.loops, *counted):
        if not loop.trains and analysis.autograd_mode.is_switched(loop.function):
            continue
        tensors = StepTensors(analysis.hot_loops, loop)
        for spot in analysis.hot_loops.spots(loop.function):
            if loop.node not in spot.loops or spot.node in seen or is_off(spot, analysis.evaluator):
                continue
            kept = _kept(spot.node, loop, tensors) or _kept_inside(spot, tensors, analysis)
            if kept is None or {kept, _variable(kept)} & (tensors.behind_backward | _rebound(loop)):
                continue
            if kept.startswith("self.") and _is_read_elsewhere(kept, loop.function):
                continue
            if _is_of_another(spot, loop, tensors):
                continue
            if match := _match(analysis, loop, spot, tensors, kept):
                seen.add(spot.node)
                yield match


def _kept(node: ast.AST, loop: HotLoop, tensors: StepTensors) -> str | None:
    """Where a statement keeps a loss: the name of the sum, of the list, or of the dict."""
    match node:
        case ast.AugAssign(target=target, op=ast.Add(), value=value) if tensors.carries(value):
            return ast.unparse(target)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            # what is added counts, not the sum, which is a loss itself from then on
            added = [other for term, other in ((left, right), (right, left)) if ast.unparse(term) == name]
            return name if any(tensors.carries(other) for other in added) else None
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
            return name if _counts_on(key, loop) and tensors.carries(value) else None
        case ast.Call(func=ast.Attribute(value=collection, attr=method), args=[value], keywords=[]) if method in _ADDS:
            name = _collection(collection)
            return name if name and tensors.carries(value) else None
    return None


def _collection(expr: ast.expr) -> str:
    """The name of what is added to: `kept`, `history["loss"]`, `self.kept`, `history.setdefault("loss", [])`."""
    match expr:
        case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
            return ast.unparse(expr)
        case ast.Subscript(value=holder) | ast.Call(func=ast.Attribute(value=holder, attr="setdefault")):
            return _collection(holder)
    return ""


def _variable(kept: str) -> str:
    """`sums` of `sums["loss"]`."""
    return kept.partition("[")[0]


def _counts_on(key: ast.expr, loop: HotLoop) -> bool:
    """Whether the key of a dict or a list is another one in each iteration: it has the variable of the loop in it."""
    own = () if isinstance(loop.node, ast.While) else walk(loop.node.target)
    names = {each.id for each in own if isinstance(each, ast.Name)}
    return any(isinstance(each, ast.Name) and each.id in names for each in walk(key))


def _is_read_elsewhere(kept: str, function: Function) -> bool:
    """Whether other methods read an attribute that losses are added to: one of them may differentiate or drop it."""
    methods = function.owner.methods.values() if function.owner is not None else ()
    return any(
        ast.unparse(each) == kept
        for method in methods
        if method is not function
        for each in method.of_kind(ast.Attribute)
        if isinstance(each.ctx, ast.Load) or method.name != "__init__"
    )


def _kept_inside(spot: ProgramPoint, tensors: StepTensors, analysis: Analysis) -> str | None:
    """The object of the project that a call has add a loss to what it holds: `meter.update(loss, n)`."""
    call = spot.node
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return None
    given = [number for number, argument in enumerate(call.args) if tensors.carries(argument)]
    methods = analysis.hot_loops.callees(spot) if given else []
    for method in methods:
        names = [each.arg for each in method.parameters[0 if method.owner is None or method.is_static else 1 :]]
        if any(number < len(names) and _adds_up(names[number], method, analysis) for number in given):
            return ast.unparse(call.func.value)
    return None


def _adds_up(parameter: str, method: Function, analysis: Analysis) -> bool:
    """Whether a method adds what it is given to an attribute as it is, with the graph behind it."""
    if method.owner is None or [each.kind for each in method.scope.names.get(parameter, ())] != ["parameter"]:
        return False
    return any(
        isinstance(spot.node, ast.AugAssign)
        and isinstance(spot.node.op, ast.Add)
        and isinstance(spot.node.target, ast.Attribute)
        and carries(spot.node.value, frozenset({parameter}))
        and not is_off(spot, analysis.evaluator)
        for spot in analysis.hot_loops.spots(method)
    )


def _is_of_another(spot: ProgramPoint, loop: HotLoop, tensors: StepTensors) -> bool:
    """Whether the names of losses in what is kept have been given something else since the backward took them.

    `loss = metrics.average()`: a number.
    """
    ways = _ways(spot, loop, tensors)
    return bool(ways) and not any(graph for bindings in ways for graph in bindings)


def _is_kept_anyway(spot: ProgramPoint, loop: HotLoop, tensors: StepTensors) -> bool:
    """Whether one of the losses has its graph behind it whichever of its assignments ran last."""
    ways = _ways(spot, loop, tensors)
    return any(all(bindings) for bindings in ways)


def _ways(spot: ProgramPoint, loop: HotLoop, tensors: StepTensors) -> list[list[bool]]:
    """For each name of a loss in a statement: whether what may be bound to it there has a graph behind it."""
    function = loop.function
    kept = tensors.losses.intersection(names_in(spot.node))
    names = [each for each in walk(spot.node) if isinstance(each, ast.Name) and each.id in kept]
    backwards = [call.lineno for call in function.calls if last_name(call.func) == "backward"]
    return [
        [
            binding is None or _has_graph(binding, name, tensors, backwards)
            for binding in reaching(name.id, name, function) or (None,)
        ]
        for name in names
    ]


def _has_graph(binding: Binding, name: ast.Name, tensors: StepTensors, backwards: list[int]) -> bool:
    """Whether an assignment is of a loss: not of a number, nor of other things after the backward."""
    expr = binding.expr
    if binding.kind == "item" and isinstance(expr, ast.Tuple) and binding.position < len(expr.elts):
        expr = expr.elts[binding.position]
    if expr is not None and any(
        spot.node is binding.node and is_off(spot, tensors.hot.evaluator) for spot in tensors.spots
    ):
        return False
    if expr is None or not any(line < expr.lineno < name.lineno for line in backwards):
        return True
    return not tensors.losses.isdisjoint(names_in(expr))


def _rebound(loop: HotLoop) -> set[str]:
    """Names that begin anew in an iteration of the loop."""
    return {
        ast.unparse(target)
        for target, binding in bound_targets(tuple(walk(loop.node)))
        if binding.kind != "changed"
        and not (binding.kind == "value" and binding.expr is not None and _adds_to(target, binding.expr))
    }


def _adds_to(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and ast.unparse(target) in {ast.unparse(value.left), ast.unparse(value.right)}


def _match(analysis: Analysis, loop: HotLoop, spot: ProgramPoint, tensors: StepTensors, kept: str) -> Match | None:
    text = statement_text(spot.place)
    if loop.trains:
        message = f"`{text}` keeps the graph of every step's loss"
        certain = _is_kept_anyway(spot, loop, tensors) and not kept.startswith("self.")
        return Match(spot.place, message, severity=Severity.LOW, certain=certain, remedy="keep `loss.detach()` instead")
    callers = analysis.autograd_mode.of_callers(loop.function) if loop.function.symbol else CallerMode.ON
    if callers is CallerMode.OFF:
        return None
    frozen = loop.function.module.mentions(*_FROZEN)
    followed = decorated(loop.function, analysis.evaluator) is Decorated.KEPT
    known = callers is CallerMode.ON and followed and _is_kept_anyway(spot, loop, tensors) and not frozen
    return Match(
        spot.place,
        f"`{text}` keeps the whole graph of every batch: no backward frees it, and nothing here turns autograd off",
        certain=known and _runs_a_known_model(loop, analysis),
    )


def _runs_a_known_model(loop: HotLoop, analysis: Analysis) -> bool:
    """Whether a model that the loop runs is known, so that there are weights whose graph is kept."""
    frame = analysis.evaluator.root_frame(loop.function)
    calls = [node for node in walk(loop.node) if isinstance(node, ast.Call) and not is_loss_call(node)]
    for call in calls:
        runs_a_model = analysis.hot_loops.is_model(call.func, loop.function)
        for value in analysis.evaluator.values(call.func, frame):
            built = isinstance(value, ExternalResult) and value.name.startswith("torch.nn.") and bool(value.calls)
            if built or (runs_a_model and isinstance(value, Object)):
                return True
    return False

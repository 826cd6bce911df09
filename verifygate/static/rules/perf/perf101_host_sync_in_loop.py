"""The host waits for the GPU in every step of training.

## What it does
Reports reads of a tensor on the host that run in every step of a training loop: `.item()`, `float(loss)`, `.cpu()`,
`.numpy()`, `.tolist()` and making text of a loss (`f"{loss:.4f}"`), in the loop, in a function of the project that it
calls, in the forward of the model or of one of its layers, or in a method that takes a step and that the loop of a
library runs. One finding per function names all of them. What stands behind a condition that holds in some steps only
(`if step % 50 == 0:`) is clean, and so is a loop whose models are built on the host and never moved.

## Impact
The GPU idles once in each step, until Python has queued work again; in short steps that can cost more than the
arithmetic.

## Why is this bad
CUDA work is queued: Python runs ahead and the GPU never idles. Reading one number makes Python wait until the queue is
empty, and the GPU then waits for Python to fill it again. In a loop of short steps that can cost more than the
arithmetic.

## What happens at run time
The numbers are right; the step takes longer. On a CPU there is no queue to wait for: the proof counts the reads. A step
through an enabled GradScaler reads its inf check on the host anyway (torch 2.13, GradScaler._maybe_opt_step): a second
read right behind it is cheap, one between forward and backward is not.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    total = 0.0
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        total += loss.item()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return total
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    total = torch.zeros((), device=device)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        total += loss.detach()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return total.item()
```

## Fix safety
No fix: only the author knows what has to be read, and how often.

## What it cannot see
Evaluation loops are left alone: their results have to reach the host. So are reads that decide a condition
(`if bad.item():`): the step needs them. Reads inside libraries are not seen. A read in a called function is only
likely: it may be of a tensor on the CPU.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.forward_passes import ForwardPasses
from verifygate.static.facts.host_loops import HostLoops
from verifygate.static.facts.step_tensors import StepTensors, differentiated, names_in
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.sites import Loop, ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children
from verifygate.torch_names import CLIP_FUNCTIONS

RULE = Rule(
    code="PERF101",
    name="host-sync-in-loop",
    severity=Severity.LOW,
    summary="the host waits for the GPU in every step",
    remedy="sum on the device (`total += loss.detach()`) and read it once, or every n-th step",
    words=("autocast", "GradScaler", "unscale_", "DataLoader"),
    proof="host-reads",
)

_METHODS = frozenset({"cpu", "numpy", "tolist"})
_BUILTINS = frozenset({"float", "print"})
_HOST_LIBRARIES = ("np.", "numpy.", "math.", "random.")
_ON_THE_HOST = re.compile(
    r"torch\.(?:randint|rand|randn|randperm|arange|linspace|logspace)\((?!.*(?:device|\.cuda\(|\.to\())"
)
"""A tensor that torch draws or counts, with no word of a device."""


def check(analysis: Analysis) -> Iterable[Match]:
    """For each loop, and each function that runs in every step, the reads on the host in it."""
    found: dict[tuple[Function, Loop | None], dict[tuple[int, int], tuple[ProgramPoint, bool, bool]]] = {}
    host = HostLoops(analysis.hot_loops)
    training = [loop for loop in analysis.hot_loops.training if not host.has(loop)]
    hot = {loop.node for loop in training}
    for loop in training:
        for spot, certain in _reads(loop.iteration_points, StepTensors(analysis.hot_loops, loop)):
            place = (spot.place.line, spot.place.column)
            own = spot.function is loop.function
            outermost = next((each for each in spot.loops if each in hot), None) if own else None
            read = (spot, certain, analysis.hot_loops.is_chosen_in(loop, spot))
            found.setdefault((spot.function, outermost), {}).setdefault(place, read)
    forwards = ForwardPasses(analysis.hot_loops)
    below = [list(forwards.points(loop)) for loop in training]
    for turns in below:
        for spot, _ in _reads(turns):
            found.setdefault((spot.function, None), {}).setdefault(
                (spot.place.line, spot.place.column), (spot, False, False)
            )
    for turns in analysis.hot_loops.run_by_libraries:
        for spot, certain in _reads(turns):
            place = (spot.place.line, spot.place.column)
            found.setdefault((spot.function, None), {}).setdefault(place, (spot, certain, False))
    for (function, outermost), reads in found.items():
        told = [places for (of, loop), places in found.items() if of is function and loop and not outermost]
        ordered = [reads[place] for place in sorted(reads) if not any(place in places for places in told)]
        if not ordered:
            continue  # a hot loop of the function has them as its own
        first, certain, _ = min(ordered, key=lambda read: (not read[1], read[2]))  # of equals the first
        others = [spot for spot, _, _ in ordered if spot is not first]
        more = f", and {len(others)} more" if others else ""
        yield Match(
            first.place,
            f"`{statement_text(first.place)}` waits for the GPU in every step{more}",
            certain=certain,
            places=tuple(spot.place for spot in others),
        )


def _reads(turns: list[ProgramPoint], tensors: StepTensors | None = None) -> Iterator[tuple[ProgramPoint, bool]]:
    """Reads on the host, and whether what is read is surely a tensor of the step, by what its loop makes of names."""
    for spot in turns:
        call = spot.node
        if not isinstance(call, ast.Call) or isinstance(spot.statement, ast.If | ast.While | ast.Assert):
            continue  # what a condition reads, the step needs
        own = tensors if tensors is not None and spot.function is tensors.loop.function else None
        surely = own is not None and bool(set(_read(call)) & own.on_device)
        name = last_name(call.func)
        is_method = isinstance(call.func, ast.Attribute)
        if is_method and name == "item" and not call.args and not call.keywords:
            text = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            host = text.startswith(_HOST_LIBRARIES) or ".numpy()" in text or _ON_THE_HOST.match(text)
            if not host and not _is_part_of_one_on_the_host(text, spot.function):
                yield spot, surely
        elif (surely and name in (_METHODS if is_method else _BUILTINS)) or (
            own is not None and (set(_written_out(call)) & own.losses or set(_percent_formatted(call)) & own.on_device)
        ):
            yield spot, True
        elif own is None and set(_read(call)) & _of_the_step(spot.function, name, is_method):
            yield spot, False
        elif is_method and name == "cpu" and any(each.endswith(".grad") for each in _read(call)):
            yield spot, own is not None  # what a backward of this step has left


def _is_part_of_one_on_the_host(name: str, function: Function) -> bool:
    """Whether a name goes over such a tensor, one value after the other."""
    bindings = function.scope.names.get(name, ())
    return bool(bindings) and all(
        each.kind == "iteration" and each.expr is not None and _ON_THE_HOST.match(ast.unparse(each.expr))
        for each in bindings
    )


def _of_the_step(function: Function, name: str, is_method: bool) -> frozenset[str]:
    """What a called function surely has on the device: what it differentiates, and norms that a clip gives it."""
    if is_method:
        return differentiated(function) if name in _METHODS else frozenset()
    if name != "float":
        return frozenset()
    return differentiated(function).union(
        each
        for each, bindings in function.scope.names.items()
        for binding in bindings
        if isinstance(binding.expr, ast.Call) and last_name(binding.expr.func) in CLIP_FUNCTIONS
    )


def _written_out(call: ast.Call) -> Iterator[str]:
    """The names whose tensors become text in what a call is given: `bar.set_description(f"{loss:.4f}")`."""
    stack: list[ast.AST] = list(call.args)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FormattedValue):
            yield from names_in(node.value, leaving_device=True)
        elif not isinstance(node, ast.Call):  # one inside is a spot of its own
            stack += children(node)


def _percent_formatted(call: ast.Call) -> Iterator[str]:
    """The names whose tensors a `%` makes text of, in what a call is given: `bar.set_description("%.4f" % loss)`."""
    stack: list[ast.AST] = list(call.args)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            yield from names_in(node.right, leaving_device=True)
        elif not isinstance(node, ast.Call):
            stack += children(node)


def _is_text(expr: ast.expr) -> bool:
    """Whether an expression is a text: written out, repeated, or put together."""
    if isinstance(expr, ast.BinOp):
        return _is_text(expr.left) or _is_text(expr.right)
    return isinstance(expr, ast.JoinedStr) or (isinstance(expr, ast.Constant) and isinstance(expr.value, str))


def _read(call: ast.Call) -> Iterator[str]:
    """The names whose tensors a call reads: of its receiver, or of what it is given as it stands."""
    if isinstance(call.func, ast.Attribute):
        yield from names_in(call.func.value, leaving_device=True)
        return
    for argument in call.args:
        if isinstance(argument, ast.Name | ast.Attribute):
            yield from names_in(argument)
        elif isinstance(argument, ast.JoinedStr):
            for part in argument.values:
                if isinstance(part, ast.FormattedValue):
                    yield from names_in(part.value)
        elif last_name(call.func) == "float":
            yield from names_in(argument, leaving_device=True)

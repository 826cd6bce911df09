"""A clock is read around CUDA work that may not have run yet.

## What it does
Reports a span between two reads of a clock that holds a model's forward, a backward or a benchmark loop of them, and
nothing that waits for the GPU: no `synchronize()`, no event, no read of a result on the host.

## Impact
The measured time is too short on a CUDA device, so that tuning goes the wrong way.

## Why is this bad
CUDA work is queued and returns at once. The clock then measures how long queueing took, and whatever waits next gets
the rest of the time: the forward looks cheap, the logging looks slow, and tuning goes the wrong way.

## What happens at run time
The time is too short on a CUDA device. On a CPU it is right, so a test there shows nothing. The proof reads the clock
beside an emulated queue (torch 2.13, CPU).

## Example
```python
import time

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    forward_seconds = 0.0
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        start = time.perf_counter()
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        forward_seconds += time.perf_counter() - start
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return forward_seconds
```

## Use instead
```python
import time

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    wait = torch.cuda.synchronize if torch.cuda.is_available() else int
    forward_seconds = 0.0
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        wait()
        start = time.perf_counter()
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        wait()
        forward_seconds += time.perf_counter() - start
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return forward_seconds
```

## Fix safety
No fix: the author has to choose between waiting and recording events, and waiting costs time in a training loop.

## What it cannot see
Spans over a whole pass through a loader: over many steps the queue is bounded and the mean is right. Spans from one
iteration to the next are likely at most. A scaler's step waits for its inf check, so a span that contains one is
assumed to be synchronised. Only code that names CUDA is certain, and what only goes to a log is of low severity.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.base.records import replace
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.clocks import reads_clock
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.sites import ProgramPoint
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

RULE = Rule(
    code="PERF108",
    name="timing-without-sync",
    severity=Severity.HIGH,
    summary="a clock is read around CUDA work that may not have run yet",
    remedy="call `torch.cuda.synchronize()` before both reads, or time with `torch.cuda.Event`",
    words=("autocast", "GradScaler", "unscale_", "DataLoader"),
    proof="device-clock",
)

_WAITS = frozenset(
    """item cpu numpy tolist synchronize elapsed_time wait barrier nonzero
    add_scalar add_scalars add_histogram""".split()  # noqa: SIM905 - TensorBoard's writer reads the tensor
)
_ASKED_OF_TENSORS = frozenset({"isnan", "isinf", "isfinite", "any", "all", "equal", "allclose"})
_LOGS = frozenset(
    {"print", "debug", "info", "warning", "log", "log_metrics", "set_postfix", "set_description", "write"}
)
_MOST = 100
"""Of more functions that a span runs, none is looked at: one of them may wait."""
_CPU_REGION = rb"cpu\.amp|autocast\(\s*(?:device_type\s*=\s*)?[\"']cpu[\"']"
_OTHER_DEVICES = rb"(?i)(?<![a-z])(?:gpu|[nx]pu|mps|device(?!_type))"


def check(analysis: Analysis) -> Iterable[Match]:
    """Spans from a first to a second read of a clock, in one block or a `with` in it, with GPU work and no wait."""
    for module in analysis.hot_loops.modules:
        data = module.file.data
        if b"cuda" not in data and (not module.file.mentions_amp or _is_for_the_cpu(data)):
            continue
        for function in module.all_functions:
            frame = analysis.evaluator.root_frame(function)
            if not any(reads_clock(call, frame, analysis) for call in function.calls):
                continue
            for start, name in _starts(analysis, function, frame):
                if not analysis.cuda_conditions.is_without_cuda(start.statement, function):
                    yield from _span(analysis, start, name, frame)
                    yield from _span_of_iterations(analysis, start, name, frame)


def _is_for_the_cpu(data: bytes) -> bool:
    """Whether a file has regions for the CPU, and no word of a device that works while nobody waits."""
    return bool(re.search(_CPU_REGION, data)) and not re.search(_OTHER_DEVICES, data)


def _starts(analysis: Analysis, function: Function, frame: Frame) -> Iterator[tuple[ProgramPoint, str]]:
    for spot in analysis.hot_loops.spots(function):
        match spot.node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if reads_clock(value, frame, analysis):
                yield spot, name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() as last) if _is_last_read(
                last, spot, frame, analysis
            ):
                yield spot, name


def _is_last_read(last: ast.Name, spot: ProgramPoint, frame: Frame, analysis: Analysis) -> bool:
    """Whether the end of one span begins the next: `now = time()`, what it took, and `then = now`."""
    read = reaching(last.id, spot.node, spot.function) or []
    block = spot.block[: spot.block.index(spot.statement)]
    return bool(read) and all(
        each.node in block and each.expr is not None and reads_clock(each.expr, frame, analysis) for each in read
    )


def _span(analysis: Analysis, start: ProgramPoint, name: str, frame: Frame) -> Iterator[Match]:
    """From a start to the first statement of the same block that takes the difference to it, or sets it anew."""
    between: list[ast.AST] = []
    ends: set[str] = set()
    for statement in _one_by_one(start.block[start.block.index(start.statement) + 1 :]):
        if _rebinds(statement, name):
            return
        if isinstance(statement, ast.Assign) and reads_clock(statement.value, frame, analysis):
            ends |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if not ends:
                return
            if any(
                _takes(node, name, ends, frame, analysis) and _is_told_of(start, statement, node)
                for node in start.function.of_kind(ast.BinOp)
            ):
                yield from _judge(analysis, start, between, statement)
            return
        if _difference(statement, name, ends, frame, analysis):
            yield from _judge(analysis, start, between, statement)
            return
        between.append(statement)


def _span_of_iterations(analysis: Analysis, start: ProgramPoint, name: str, frame: Frame) -> Iterator[Match]:
    """From a start at the end of an iteration to the difference that the next iteration takes to it."""
    loop = start.loops[-1] if start.loops else None
    if loop is None or tuple(loop.body) != start.block:
        return
    statements = list(_one_by_one(start.block))
    first = statements.index(start.statement)
    between = statements[first + 1 :]
    if any(_rebinds(statement, name) for statement in between):
        return
    ends: set[str] = set()
    stop: ast.AST | None = None
    for statement in statements[:first]:
        if _rebinds(statement, name):
            return
        if _difference(statement, name, ends, frame, analysis):
            for match in _judge(analysis, start, between, stop or statement, difference=statement):
                yield replace(match, certain=False)
            return
        if isinstance(statement, ast.Assign) and reads_clock(statement.value, frame, analysis):
            ends = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            stop = statement
        elif stop is None:
            between.append(statement)


def _one_by_one(block: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """The statements of a block, and of the `with` blocks in it, which run as they stand."""
    for statement in block:
        if isinstance(statement, ast.With):
            yield from statement.items
            yield from _one_by_one(statement.body)
        else:
            yield statement


def _rebinds(statement: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in walk(statement)
    )


def _difference(statement: ast.AST, name: str, ends: set[str], frame: Frame, analysis: Analysis) -> bool:
    """Whether a simple statement subtracts the start from a clock, or from a later read of one."""
    if isinstance(statement, ast.For | ast.While | ast.If | ast.Try):
        return False
    return any(_takes(node, name, ends, frame, analysis) for node in walk(statement))


def _takes(node: ast.AST, name: str, ends: set[str], frame: Frame, analysis: Analysis) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.right, ast.Name)
        and node.right.id == name
        and (reads_clock(node.left, frame, analysis) or (isinstance(node.left, ast.Name) and node.left.id in ends))
    )


def _is_told_of(start: ProgramPoint, stop: ast.Assign, difference: ast.AST) -> bool:
    """Whether a difference of two names can be that of this span: another may have bound both anew by then."""
    read = {id(start.node.value), id(stop.value)}  # type: ignore[attr-defined]
    names = {node.id for node in walk(difference) if isinstance(node, ast.Name)}
    found = (reaching(name, difference, start.function) or [] for name in names)
    reached = {id(binding.expr) for bindings in found for binding in bindings}
    return read <= reached


def _judge(
    analysis: Analysis, start: ProgramPoint, between: list[ast.AST], stop: ast.AST, difference: ast.AST | None = None
) -> Iterator[Match]:
    nodes = [node for statement in between for node in walk(statement)]
    if any(isinstance(node, ast.While) or (isinstance(node, ast.For) and not _over_range(node)) for node in nodes):
        return
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    works = [call for call in calls if _works(analysis, call, start.function)]
    if not works:
        return
    begun = min(map(_end, works))  # who waits before anything is queued waits for nothing of it
    if any(_waits(analysis, call, start.function) for call in calls if _end(call) >= begun):
        return
    first = Location(start.function, works[0])
    yield Match(
        Location(start.function, stop),
        f"the clock is read before `{ast.unparse(works[0])[:60]}` is sure to have run: nothing waits for the GPU",
        certain=_names_cuda(start.function),
        severity=Severity.LOW if _is_only_logged(difference or stop, start.function) else None,
        steps=((start.place, "the span begins"), (first, "this is queued and returns at once")),
    )


def _is_only_logged(difference: ast.AST, function: Function) -> bool:
    """Whether what was measured is only written to a log: no figure is reported that somebody compares."""
    targets = [each.id for each in getattr(difference, "targets", ()) if isinstance(each, ast.Name)]
    logged = {node for call in function.calls if last_name(call.func) in _LOGS for node in walk(call)}
    if not targets:
        taken = [node for node in walk(difference) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)]
        return bool(taken) and all(node in logged for node in taken)
    reads = [
        node
        for node in function.own_nodes
        if isinstance(node, ast.Name) and node.id in targets and isinstance(node.ctx, ast.Load)
    ]
    return bool(reads) and all(node in logged for node in reads)


def _end(call: ast.Call) -> tuple[int, int]:
    """Where a call ends: those in its arguments and its receiver, which run first, end before it."""
    return call.end_lineno or 0, call.end_col_offset or 0


def _over_range(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in ("range", "trange")


def _works(analysis: Analysis, call: ast.Call, function: Function) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        return True
    return bool(call.args or call.keywords) and analysis.hot_loops.is_model(call.func, function)


def _waits(analysis: Analysis, call: ast.Call, function: Function) -> bool:
    """Whether a call waits for the GPU, itself or in what it runs of the project; where that is too much, it may."""
    calls = [(call, function)]
    entered: set[Function] = set()
    while calls:
        here, caller = calls.pop()
        frame = analysis.evaluator.root_frame(caller)
        if _is_wait(analysis, here, frame) or _is_asked(analysis, here, caller):
            return True
        callees = {each.function for each in analysis.evaluator.callees(here, frame)} - entered
        entered |= callees
        if len(entered) > _MOST:
            return True
        calls += [(each, callee) for callee in callees for each in callee.calls]
    return False


def _is_wait(analysis: Analysis, call: ast.Call, frame: Frame) -> bool:
    name = last_name(call.func)
    if name in _WAITS or "sync" in name:
        return True
    if isinstance(call.func, ast.Name) and name in ("float", "print"):
        return any(isinstance(node, ast.Name) for argument in call.args for node in walk(argument))
    scales = name == "step" and isinstance(call.func, ast.Attribute)
    return scales and bool(analysis.roles.scaler(call.func.value, frame))  # type: ignore[attr-defined]


def _is_asked(analysis: Analysis, call: ast.Call, function: Function) -> bool:
    """Whether a condition needs to know what a tensor holds: `if torch.isinf(norm):`."""
    if last_name(call.func) not in _ASKED_OF_TENSORS:
        return False
    around = analysis.enclosing.around(call, function)
    return any(each.part == "test" for each in around)


def _names_cuda(function: Function) -> bool:
    """Whether the function itself puts its work on a CUDA device, whatever is there."""
    return any(
        (isinstance(call.func, ast.Attribute) and call.func.attr == "cuda")
        or (last_name(call.func) == "to" and any(_is_cuda(argument) for argument in call.args))
        for call in function.calls
    )


def _is_cuda(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and str(node.value).startswith("cuda")

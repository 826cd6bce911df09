"""A forward runs in another thread, which the region does not cover.

## What it does
Reports a model that is run without a region of its own by a thread (`Thread(target=...)`, `pool.submit`, `pool.map`)
that is started inside a region, or in a function that is called in one; and a model in `DataParallel` that runs in a
bfloat16 region.

## Impact
The thread's forward runs in float32, or in float16 where bfloat16 was asked for, and nothing scales its loss.

## Why is this bad
Autocast is a state of the thread. A new thread starts without it, so its forwards run in float32. `DataParallel` tells
its threads that autocast is on, but not which dtype: they use the default of the device, float16, whose range the rest
of the training is not prepared for (no loss scaling).

## What happens at run time
Silent. Seen on torch 2.13 (CPU): the outputs of a model that a pool's thread runs are float32. `DataParallel` by
torch's source (2.13, `parallel_apply`), which passes on `is_autocast_enabled()` alone; not run on several devices.

## Example
```python
from concurrent.futures import ThreadPoolExecutor

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    with ThreadPoolExecutor(1) as pool:
        for inputs, targets in batches:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=torch.float16):
                outputs = pool.submit(model, inputs).result()
                loss = loss_fn(outputs, targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
```

## Use instead
```python
from concurrent.futures import ThreadPoolExecutor

import torch


def forward(model, inputs, device):
    with torch.autocast(device, dtype=torch.float16):
        return model(inputs)


def train(model, loss_fn, optimizer, scaler, batches, device):
    with ThreadPoolExecutor(1) as pool:
        for inputs, targets in batches:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=torch.float16):
                outputs = pool.submit(forward, model, inputs, device).result()
                loss = loss_fn(outputs, targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
```

## Fix safety
No automatic fix: the region has to move into the function that the thread runs, or the forward of the model.

## What it cannot see
Threads of libraries, queues that worker threads read, and models that wrap their own forward in a region.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-gpus
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.naming import names_a_whole_model
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Frame, FunctionValue, Object

RULE = Rule(
    code="AMP107",
    name="autocast-lost-in-threads",
    severity=Severity.MEDIUM,
    summary="a forward runs in another thread, which the autocast region or its dtype does not reach",
    remedy="enter the region in the function that the thread runs, or in the model's forward",
    words=("autocast",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="dtype-census",
)

_POOLS = r"(^|\.)(ThreadPoolExecutor|ThreadPool)$"


def check(analysis: Analysis) -> Iterable[Match]:
    """Calls in active regions, and in the functions that are called there."""
    for region, function, calls in _covered(analysis):
        frame = analysis.evaluator.root_frame(function)
        dtypes = analysis.region_dtypes.of(region) if region.region.dtype is not None else frozenset()
        is_bfloat16 = dtypes == {Dtype.BFLOAT16}
        for call in calls:
            text = statement_text(Location(function, call))
            work = _handed_over(call, frame, analysis)
            if work is not None and (_runs_a_model(work, frame, analysis) or _runs_what_it_is_given(work, call)):
                yield Match(
                    Location(function, call),
                    f"`{text}` runs a model in another thread, without autocast",
                    certain=False,
                    steps=((region.place, "autocast region"),),
                )
            elif is_bfloat16 and _is_data_parallel(call, frame, analysis):
                yield Match(
                    Location(function, call),
                    f"`{text}` runs the replicas of DataParallel in float16: the region's bfloat16 is not passed on",
                    certain=False,
                    steps=((region.place, "autocast region"),),
                    remedy="use DistributedDataParallel, or enter the bfloat16 region in the model's forward",
                )


def _covered(analysis: Analysis) -> Iterator[tuple[WrittenRegion, Function, tuple[ast.Call, ...] | list[ast.Call]]]:
    """The active regions, each with the calls in it, in its own function and in those that it surely calls."""
    for region in analysis.written_regions.all:
        if region.is_active:
            yield region, region.function, region.calls
    for function, cover in analysis.region_coverage.reached.items():
        own = [call for call in function.calls if analysis.region_coverage.written_around(call, function) is None]
        if cover.certain and own and function.module.mentions(b"Thread"):
            yield cover.region, function, own


def _handed_over(call: ast.Call, frame: Frame, analysis: Analysis) -> ast.expr | None:
    """What a call gives to another thread to run, or None."""
    if analysis.roles.known_name(call.func, frame) == "threading.Thread":
        return next((word.value for word in call.keywords if word.arg == "target"), None)
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("submit", "map", "apply_async") and call.args:
        return call.args[0] if _is_pool(call.func.value, frame, analysis) else None
    return None


def _is_pool(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether an expression is a pool of threads, also one that a `with` has named."""
    makers: list[ast.expr] = [expr]
    if isinstance(expr, ast.Name) and (found := analysis.evaluator.lookup(expr.id, frame)):
        makers = [each.expr for each in found[0] if each.expr is not None]
    return any(
        isinstance(value, ExternalResult) and bool(re.search(_POOLS, value.name))
        for maker in makers
        for value in analysis.evaluator.values(maker, frame)
    )


def _names_a_model(name: str) -> bool:
    return names_a_whole_model(name) or name == "forward"


def _runs_a_model(work: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether what a thread runs is a model, or a function that calls one without entering a region."""
    values = analysis.evaluator.values(work, frame)
    functions = [value.function for value in values if isinstance(value, FunctionValue)]
    if not functions:
        outside = any(isinstance(value, Object) for value in values)
        return not outside and _names_a_model(last_name(work))
    return any(
        "autocast" not in ast.unparse(function.node)
        and any(_names_a_model(last_name(call.func)) for call in function.calls)
        for function in functions
    )


def _runs_what_it_is_given(work: ast.expr, call: ast.Call) -> bool:
    """Whether a lambda calls a model, or is handed models to call: `pool.map(lambda each: each(x), models)`."""
    if not isinstance(work, ast.Lambda):
        return False
    own = {each.arg for each in work.args.args}
    given_models = any(_names_a_model(last_name(each).removesuffix("s")) for each in call.args[1:])
    called = {last_name(each.func) for each in walk(work.body) if isinstance(each, ast.Call)}
    return any(_names_a_model(name) for name in called) or (given_models and not own.isdisjoint(called))


def _is_data_parallel(call: ast.Call, frame: Frame, analysis: Analysis) -> bool:
    names = {"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"}
    values = analysis.evaluator.values(call.func, frame)
    return any(isinstance(value, ExternalResult) and value.name in names for value in values)

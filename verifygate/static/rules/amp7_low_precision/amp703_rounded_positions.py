"""Positions, time steps or frequencies are rounded to half precision.

## What it does
Reports

- `arange`, `linspace`, `randint` or `randperm` whose numbers are made in float16 or bfloat16, or cast to it, where they
  go beyond what the dtype tells apart (256 in bfloat16, 2048 in float16), or where the source does not say how far they
  go;
- a matrix product of positions and frequencies in a half autocast region, of the project or of a framework, in a
  function that takes sines or cosines (likely: how far positions go is not told);
- a cast of a whole model to half that also rounds a table of frequencies: a buffer that is worked out from `arange` by
  powers, exponentials or quotients, and is multiplied with something later;
- a cast of a whole model to half that also rounds a parameter which begins as logarithms of whole numbers and is
  exponentiated later, as the decay rates of a state space model are (medium, likely), or the layer that chooses among
  experts (low, likely), unless the same function makes that layer float32 again.

## Impact
Positions and time steps run together: of 4,096 positions bfloat16 tells 769 apart.

## Why is this bad
From 256 on bfloat16 has only every second whole number, from 512 on every fourth. Neighbours become one position, and
time steps are others than the noise was made for. A rounded frequency is off by up to 0.4 %: times position 4096 that
is many turns. What is rounded is lost: a later `.float()` brings nothing back.

## What happens at run time
Silent on every torch. Seen on 2.13 (CPU): `arange(4096)` in bfloat16 has 769 different numbers. Angles of 4096
positions that are a matrix product under autocast in bfloat16 are off by up to 14, and their cosines by 0.19 on
average; `torch.outer` is left in float32.

## Example
```python
import torch


def train(model, loss_fn, optimizer, batches):
    positions = torch.arange(4096, dtype=torch.bfloat16)
    angles = torch.outer(positions.float(), 1.0 / 10000 ** (torch.arange(0, 8, 2) / 8))
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    print(len(angles[:, 0].unique()), "positions told apart")
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, batches):
    positions = torch.arange(4096, dtype=torch.float32)
    angles = torch.outer(positions, 1.0 / 10000 ** (torch.arange(0, 8, 2) / 8))
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    print(len(angles[:, 0].unique()), "positions told apart")
```

## Fix safety
No fix: what is made of the numbers may have to be cast where it meets half tensors, and that is further on.

## What it cannot see
Dtypes that come from a configuration. Numbers that are worked out before the cast, of which it cannot tell whether they
are large. Frequencies that are recomputed in each forward are left alone, and so are tables of sines and cosines, which
half precision holds well enough. In files without a word of AMP, experts in a list of another name, and layers that
normalise: what their weights lose in half, AMP701 tells of all weights. In `run` (and by `check --abstract-run`),
programs are also run on an abstract machine, which sees dtypes and lengths that an argument holds.

## References
- https://github.com/huggingface/transformers/pull/29285
- https://github.com/EleutherAI/gpt-neox/issues/1003
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.idioms.angle_products import angle_products
from verifygate.static.idioms.frequency_buffers import FrequencyBuffer, frequency_buffers
from verifygate.static.idioms.rounded_parts import RoundedPart, is_brought_back, rounded_parts
from verifygate.static.idioms.trained_parameters import model_of
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult, Frame, Object

_COUNTED_IN_HALF = (
    r"arange\([^\n]*dtype=[^\n]*(?:float16|half)|arange\([^\n]*\)\.(?:half|bfloat16)\(|arange\([^\n]*dtype=\w+\.dtype"
)

RULE = Rule(
    code="AMP703",
    name="rounded-positions",
    severity=Severity.HIGH,
    summary="positions, time steps or frequencies are rounded to half precision",
    remedy="make and keep them in float32, and cast what is worked out from them",
    words=(),
    beside=(rf"{_COUNTED_IN_HALF}|_log ?= ?(?:torch|np|numpy)\.log\(|Parameter\([^\n]*\blog\(|\bexperts\b",),
    proof="told-of-the-same",
)

_COUNTS = frozenset({"arange", "linspace", "randint", "randperm"})
_TOLD_APART = {Dtype.BFLOAT16: 256.0, Dtype.FLOAT16: 2048.0, Dtype.HALF: 256.0}
"""The whole numbers up to which a dtype has all of them."""
_CASTS = {"half": Dtype.FLOAT16, "bfloat16": Dtype.BFLOAT16}


def check(analysis: Analysis) -> Iterator[Match]:
    """Whole numbers in half, and casts of models that hold frequencies."""
    for function in analysis.functions:
        if function.module.file.is_test:
            continue
        if function.module.mentions(b"arange", b"linspace", b"randint", b"randperm"):
            yield from _counts(function, analysis)
        if function.module.mentions(b"half", b"float16"):
            yield from _models(function, analysis)
        yield from _products(function, analysis)


# -- whole numbers -----------------------------------------------------------------------------------------------------


def _counts(function: Function, analysis: Analysis) -> Iterator[Match]:
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        made, dtypes, sure = _made_half(call, frame, analysis)
        if made is None or not dtypes:
            continue
        largest = _largest(made, frame, analysis)
        dtype = max(dtypes, key=lambda each: -_TOLD_APART[each])
        limit = max(_TOLD_APART[each] for each in dtypes) if sure else _TOLD_APART[dtype]
        if largest is not None and largest <= limit:
            continue
        if largest is None and (last_name(made.func) != "arange" or len(made.args) > 2):
            continue  # a few, or every second one of a few
        place = Location(function, call)
        named = " or ".join(sorted(dtypes))
        beyond = f"{largest:g} are counted" if largest is not None else "it is not told how many are counted"
        yield Match(
            place,
            f"`{statement_text(place)}` counts in {named}, which tells whole numbers apart up to {limit:g}; {beyond}",
            certain=sure and largest is not None,
        )


def _made_half(call: ast.Call, frame: Frame, analysis: Analysis) -> tuple[ast.Call | None, frozenset[Dtype], bool]:
    """The call that counts, the half dtypes that its numbers get by a call, and whether they get no other."""
    given: ast.expr | None = None
    made: ast.Call | None = call
    if last_name(call.func) in _COUNTS:
        given = next((word.value for word in call.keywords if word.arg == "dtype"), None)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in (*_CASTS, "to"):
        made = _counted(call.func.value, frame, analysis)
        if made is not None and call.func.attr in _CASTS:
            return made, frozenset({_CASTS[call.func.attr]}), True
        given = next((word.value for word in call.keywords if word.arg == "dtype"), None)
        given = given or (call.args[-1] if call.args else None)
    if made is None or given is None:
        return None, frozenset(), False
    if made is call and _counted(call, frame, analysis) is None:
        return None, frozenset(), False
    dtypes = analysis.dtype_values.of(given, frame)
    if dtypes <= HALVES:
        return made, dtypes, True
    if isinstance(given, ast.Attribute) and given.attr == "dtype" and _is_half_there(given.value, frame, analysis):
        return made, frozenset({Dtype.HALF}), False
    return None, frozenset(), False


def _counted(expr: ast.expr, frame: Frame, analysis: Analysis) -> ast.Call | None:
    """The one call of torch that gives whole numbers, which an expression stands for."""
    match analysis.evaluator.values(expr, frame):
        case (ExternalResult(name=name, calls=((made, home), *_)),) if home.function is frame.function:
            module, _, last = name.rpartition(".")
            return made if module == "torch" and last in _COUNTS else None
    return None


def _is_half_there(tensor: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether a tensor is half in a region that covers the function, from wherever that is called."""
    cover = analysis.region_coverage.cover(tensor, frame.function)
    if cover is None or not analysis.region_dtypes.of(cover.region) <= HALVES:
        return False
    entries = [entered for _, entered in analysis.call_graph.entries(frame.function)]
    return bool(entries) and all(analysis.tensor_dtypes.is_half(tensor, each) for each in entries)


def _largest(made: ast.Call, frame: Frame, analysis: Analysis) -> float | None:
    """The largest number that a call counts to, about; None where the source does not say it."""
    bound = next((word.value for word in made.keywords if word.arg in ("end", "high", "n")), None)
    if bound is None and made.args:
        bound = made.args[0] if len(made.args) == 1 or last_name(made.func) == "randperm" else made.args[1]
        if last_name(made.func) == "randint" and isinstance(bound, ast.Tuple):
            bound = made.args[0]
    return analysis.constants.number(bound, frame) if bound is not None else None


def _products(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Angles that autocast computes in half: of them sines and cosines are taken."""
    for product in angle_products(function, analysis):
        shown = ((product.region, "autocast is on"),) if product.region is not None else ()
        yield Match(
            product.place,
            f"`{statement_text(product.place)}` is a matrix product, which autocast computes in half: "
            "angles at large positions are off by whole turns",
            certain=False,
            steps=(*shown, (product.place, "the angles")),
            remedy="work the angles out where autocast is off, or multiply element by element",
        )


# -- frequencies -------------------------------------------------------------------------------------------------------


def _models(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Casts of objects of the project's classes that hold frequencies, or parts that do."""
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in (*_CASTS, "to"):
            continue
        cast = analysis.module_dtypes.cast(call, frame)
        if not cast or not all(each.dtype in HALVES for each in cast):
            continue
        values = analysis.evaluator.values(model_of(call.func.value), frame)
        buffers = [
            each for value in values if isinstance(value, Object) for each in frequency_buffers(value.made, analysis)
        ]
        place = Location(function, call)
        if buffers:
            yield _rounded(place, buffers[0], cast[0].sure and len(values) == 1, analysis)
            continue
        parts = [each for value in values if isinstance(value, Object) for each in rounded_parts(value.made, analysis)]
        for part in sorted(parts, key=lambda each: each.router)[:1]:
            if not is_brought_back(part, place, analysis):
                yield _changed(place, part)


def _changed(place: Location, part: RoundedPart) -> Match:
    """A part that is computed in half from here on."""
    what = (
        f"the layer `{part.name}`, which chooses experts: near ties are chosen by rounding"
        if part.router
        else f"the logarithms in `{part.name}`: what is exponentiated is off by as much as they are large"
    )
    return Match(
        place,
        f"`{statement_text(place)}` rounds {what}",
        certain=False,
        severity=Severity.LOW if part.router else Severity.MEDIUM,
        steps=((part.place, "the part"), (place, "the cast")),
        remedy="keep this part in float32, or cast the other layers one by one",
    )


def _rounded(place: Location, buffer: FrequencyBuffer, sure: bool, analysis: Analysis) -> Match:
    alone = not analysis.enclosing.conditions(place.node, place.function)
    return Match(
        place,
        f"`{statement_text(place)}` rounds the frequencies in the buffer `{buffer.name}` as well: "
        "products with large positions are off by whole turns",
        certain=sure and alone,
        steps=((buffer.place, "the frequencies"), (place, "the cast")),
        remedy="cast the layers and not the buffer, or work the frequencies out in float32 in each forward",
    )

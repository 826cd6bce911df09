"""The dtype of losses: those that autocast runs in float32, and those whose inputs are cast at the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model.precision_contract import Aspect
from verifygate.naming import names_a_loss_function
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.contract.conditions import condition_at, where_on
from verifygate.static.contract.fact import Fact
from verifygate.static.contract.training import TrainingReach
from verifygate.static.facts.differentiated_values import is_differentiated
from verifygate.static.facts.dtype_lattice import FLOAT32_LOSSES, HALVES, Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalName, ExternalResult

_NAMES = frozenset(
    {f"torch.nn.functional.{name}" for name in FLOAT32_LOSSES}
    | {f"torch.nn.{name}" for name in FLOAT32_LOSSES.values()}
)
_CASTS = {"float": Dtype.FLOAT32, "double": Dtype.FLOAT64, "half": Dtype.FLOAT16, "bfloat16": Dtype.BFLOAT16}
_WORDS = (b"oss", b"riterion", b"cross_entropy", b"kl_div")


def loss_facts(analysis: Analysis, reach: TrainingReach) -> Iterator[Fact]:
    """What the calls of torch's losses come to in training."""
    for module in analysis.modules:
        if module.file.is_test or not module.mentions(*_WORDS):
            continue
        for function in module.all_functions:
            for call in function.calls:
                last = last_name(call.func)
                if (last in FLOAT32_LOSSES or names_a_loss_function(last)) and (
                    name := _loss(call, function, analysis)
                ):
                    yield from _of_loss(call, name, function, analysis, reach)


def _loss(call: ast.Call, function: Function, analysis: Analysis) -> str:
    """The qualified name of the loss of torch that a call computes; empty where it may be another one."""
    values = analysis.evaluator.values(call.func, analysis.evaluator.root_frame(function))
    names = {each.name if isinstance(each, ExternalName | ExternalResult) else "" for each in values}
    return min(names) if names and names <= _NAMES else ""


def _of_loss(call: ast.Call, name: str, function: Function, analysis: Analysis, reach: TrainingReach) -> Iterator[Fact]:
    place = Location(function, call)
    if reach.is_self_test(place):
        return
    short = name.rpartition(".")[2]
    around = analysis.region_coverage.written_around(call, function)
    cover = analysis.region_coverage.cover(call, function) if analysis.written_regions.some_active else None
    if cover is not None and cover.certain and _is_half(cover.region, analysis):
        if reach.has_region(cover.region):
            note = f"autocast runs `{short}` in float32"
            yield _fact(place, str(Dtype.FLOAT32), note, _condition(cover.region, place, analysis))
    elif around is None and is_differentiated(call, function, analysis.enclosing):
        for dtype in _cast_to(call.args[0], function, analysis) if call.args else ():
            yield _fact(place, str(dtype), f"what `{short}` is given is cast", condition_at(place, analysis))


def _fact(place: Location, value: str, note: str, condition: str) -> Fact:
    return Fact(aspect=Aspect.LOSS, value=value, path=place.path, line=place.line, note=note, condition=condition)


def _is_half(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether a region computes in half precision, or in one of several that a setting names and float32."""
    dtypes = analysis.region_dtypes.of(region)
    known = dtypes <= HALVES | {Dtype.FLOAT32} and not dtypes.isdisjoint(HALVES)
    return known or analysis.region_dtypes.follows_device(region)


def _condition(region: WrittenRegion, place: Location, analysis: Analysis) -> str:
    enabled = region.region.enabled
    found = where_on(enabled.expr if enabled is not None else None)
    return found or ("where it is entered" if region.region.optional else "") or condition_at(place, analysis)


def _cast_to(given: ast.expr, function: Function, analysis: Analysis) -> frozenset[Dtype]:
    """The dtype that a cast gives to what stands there: `logits.float()`, `logits.to(torch.float32).view(-1)`."""
    frame = analysis.evaluator.root_frame(function)
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        if given.func.attr in _CASTS and not given.args:
            return frozenset({_CASTS[given.func.attr]})
        if given.func.attr in ("to", "type"):
            said = [*given.args, *(word.value for word in given.keywords if word.arg == "dtype")]
            for each in said:
                dtypes = analysis.dtype_values.of(each, frame) - {Dtype.OTHER}
                if dtypes and Dtype.UNKNOWN not in dtypes:
                    return frozenset(dtypes)
        given = given.func.value
    return frozenset()

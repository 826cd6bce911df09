"""What the project's own code declares: autocast regions, scalers, casts of the trained modules, plain training."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model.precision_contract import Aspect
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.contract.byte_facts import CASTS, ByteFacts
from verifygate.static.contract.conditions import ON_ONE_PATH, cast_where, condition_at, joined, where_on
from verifygate.static.contract.exports import export_facts
from verifygate.static.contract.fact import FROZEN, RULES, Fact
from verifygate.static.contract.training import TrainingReach
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import ClassValue, ExternalName, ExternalResult, Frame

_MOST_BESIDE = 20
"""Files that no rule looks at of which the contract asks what they train."""


def own_facts(analysis: Analysis, scanned: ByteFacts, reach: TrainingReach) -> Iterator[Fact]:
    """What the picked modules declare themselves."""
    yield from _regions(analysis, reach, scanned)
    yield from _scalers(analysis, reach, scanned)
    yield from _trained_weights(analysis, scanned, reach)
    yield from _exported(analysis, scanned)


def _regions(analysis: Analysis, reach: TrainingReach, scanned: ByteFacts) -> Iterator[Fact]:
    for region in analysis.written_regions.all:
        if not region.is_active or region.function.module.file.is_test:
            continue
        place = region.place
        if _is_accelerates(region, analysis) or reach.is_self_test(place):
            continue
        evaluates = not reach.has_region(region)
        aspect = Aspect.EVALUATION if evaluates else Aspect.COMPUTE
        if evaluates and not reach.is_without_training(region):
            gap = "whether what this region computes is trained"
            yield from (
                Fact(aspect=each, gap=gap, path=place.path, line=place.line) for each in (aspect, Aspect.COMPUTE)
            )
            continue
        if not evaluates:
            made = region.region.made is not None
            yield _driver("torch.autocast" if made else f"`{ast.unparse(region.context)[:60]}`", place)
        dtypes = analysis.region_dtypes.of(region)
        is_default = region.region.made is not None and region.region.dtype is None
        if is_default and _says("sets_autocast", place.path, analysis, scanned):
            gap = "what a region without a dtype takes is set elsewhere: `set_autocast_dtype`"
            yield Fact(aspect=aspect, gap=gap, path=place.path, line=place.line)
            continue
        condition = _condition(region, analysis)
        one = condition or (ON_ONE_PATH if len(dtypes) > 1 else "")
        for dtype in sorted(dtypes - {Dtype.UNKNOWN}):
            inside = _island(region, dtype)
            yield Fact(aspect=aspect, value=str(dtype), condition=inside or one, path=place.path, line=place.line)
        if Dtype.UNKNOWN not in dtypes:
            continue
        if analysis.region_dtypes.follows_device(region):
            value = "autocast's default: float16 on CUDA, bfloat16 on a CPU"
            yield Fact(aspect=aspect, value=value, condition=condition, path=place.path, line=place.line)
        else:
            gap = f"the dtype of `{ast.unparse(region.context)[:80]}`"
            yield Fact(aspect=aspect, gap=gap, path=place.path, line=place.line)


def _says(name: str, path: str, analysis: Analysis, scanned: ByteFacts) -> bool:
    """Whether a file that runs together with another one says something, by its bytes."""
    files = analysis.import_graph.together(path)
    return any(getattr(words, name) for each in files if (words := scanned.words.get(each)) is not None)


def _island(region: WrittenRegion, dtype: Dtype) -> str:
    """The class in whose `forward` alone a region keeps float32: what is around it computes as it did."""
    function = region.function
    is_inside = function.name == "forward" and function.owner is not None and dtype is Dtype.FLOAT32
    return f"in `{function.owner.node.name}`" if is_inside and function.owner is not None else ""


def _is_accelerates(region: WrittenRegion, analysis: Analysis) -> bool:
    """Whether it is `accelerator.autocast()`, which is as the Accelerator was made."""
    context = region.context
    if not isinstance(context, ast.Call) or not isinstance(context.func, ast.Attribute):
        return False
    values = analysis.evaluator.values(context.func.value, analysis.evaluator.root_frame(region.function))
    return any(isinstance(each, ExternalResult) and each.name.startswith("accelerate.") for each in values)


def _driver(what: str, place: Location) -> Fact:
    value = f"own code: {what}"
    return Fact(aspect=Aspect.DRIVER, path=place.path, line=place.line, value=value, judged_by=RULES)


def _condition(region: WrittenRegion, analysis: Analysis) -> str:
    enabled = region.region.enabled
    found = where_on(enabled.expr if enabled is not None else None) or condition_at(region.place, analysis)
    return found or ("where it is entered" if region.region.optional else "")


def _scalers(analysis: Analysis, reach: TrainingReach, scanned: ByteFacts) -> Iterator[Fact]:
    for made in analysis.scaler_allocations:
        if made.off or made.function.module.file.is_test or reach.is_self_test(made.place):
            continue
        enabled = made.enabled
        kind = "ShardedGradScaler" if made.sharded else "the scaler of timm" if made.steps else "GradScaler"
        place = made.place
        condition = where_on(enabled.expr if enabled is not None else None) or condition_at(place, analysis)
        if not made.steps and not _says("uses_scaler", place.path, analysis, scanned):
            gap = "a scaler is made here, and no call of its `scale` was found"
            yield Fact(aspect=Aspect.LOSS_SCALE, path=place.path, line=place.line, gap=gap)
            continue
        yield _driver(kind, place)
        yield Fact(aspect=Aspect.LOSS_SCALE, value=kind, condition=condition, path=place.path, line=place.line)
    for call in analysis.scaler_calls:
        if call.method == "state_dict" and not call.function.module.file.is_test:
            yield Fact(
                aspect=Aspect.CHECKPOINT, value="holds the scaler's state", path=call.place.path, line=call.place.line
            )


def _with_casts(analysis: Analysis, paths: frozenset[str]) -> Iterator[Module]:
    """The modules in which a model may be cast, and those at some paths at which no rule looks."""
    for module in analysis.modules:
        if not module.file.is_test and module.mentions(*CASTS):
            yield module
    beside = sorted(paths - analysis.program.picked.keys())
    for path in beside[:_MOST_BESIDE]:
        unpicked = analysis.program.module(path)
        if unpicked is not None:
            unpicked.look_at(None)
            yield unpicked


def _trained_weights(analysis: Analysis, scanned: ByteFacts, reach: TrainingReach) -> Iterator[Fact]:
    """The dtypes that casts give to the modules whose parameters an optimizer is made with."""
    for module in _with_casts(analysis, scanned.casting):
        for function in module.all_functions:
            for call in function.calls:
                for model in _trained_by(call):
                    frame = analysis.evaluator.root_frame(function)
                    if not _trains(call, function, analysis) or reach.is_self_test(Location(function, call)):
                        continue
                    adapted = _is_adapted(model, frame, analysis)
                    for way in analysis.module_dtypes.of(model, frame):
                        one = "" if way.sure or adapted else ON_ONE_PATH
                        chosen = cast_where(way.cast, way.dtype, analysis)
                        condition = joined(chosen, condition_at(way.cast, analysis)) or one
                        yield Fact(
                            aspect=Aspect.WEIGHTS,
                            value=f"{way.dtype}, {FROZEN} under adapters (PEFT)" if adapted else str(way.dtype),
                            path=way.cast.path,
                            line=way.cast.line,
                            condition=condition,
                        )


def _is_adapted(model: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether a model is one that PEFT has put adapters into, and whose own weights it has frozen."""
    return any(
        isinstance(each, ExternalResult) and each.name.startswith("peft.")
        for each in analysis.evaluator.values(model, frame)
    )


def _exported(analysis: Analysis, scanned: ByteFacts) -> Iterator[Fact]:
    """The dtypes of exports where a cast says them; else where the first export of each kind stands."""
    modules = list(_with_casts(analysis, scanned.exporting))
    told = list(export_facts(modules, analysis))
    places = {(each.path, each.line) for each in told}
    yield from told
    yield from (each for each in scanned.exports if (each.path, each.line) not in places)


def casts_in_models(analysis: Analysis) -> Iterator[Fact]:
    """Where the `forward` of a class casts: the dtype in which it computes is that of its casts, not followed."""
    for function in analysis.functions:
        if function.name != "forward" or function.owner is None or function.module.file.is_test:
            continue
        frame = analysis.evaluator.root_frame(function)
        for call in function.calls:
            given = [*call.args, *(word.value for word in call.keywords if word.arg == "dtype")]
            last = simple_name(call.func)
            if last in ("half", "bfloat16") or (
                last == "to" and any(_may_be_half(each, analysis, frame) for each in given)
            ):
                gap = "casts in the model decide it"
                yield Fact(aspect=Aspect.COMPUTE, path=function.module.path, line=call.lineno, gap=gap)
                break


def _may_be_half(expr: ast.expr, analysis: Analysis, frame: Frame) -> bool:
    """Whether an argument is a half dtype, or that of another tensor: `x.dtype`."""
    is_of_a_tensor = isinstance(expr, ast.Attribute) and expr.attr == "dtype"
    return is_of_a_tensor or not HALVES.isdisjoint(analysis.dtype_values.of(expr, frame))


def _trained_by(call: ast.Call) -> Iterator[ast.expr]:
    """The module in `Optimizer(model.parameters(), ...)`, and in `Trainer(model=model)`."""
    given = call.args[0] if call.args else None
    if simple_name(call.func)[:1].isupper():
        yield from (word.value for word in call.keywords if word.arg == "model")
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "parameters":
        yield given.func.value


def _trains(call: ast.Call, function: Function, analysis: Analysis) -> bool:
    frame = analysis.evaluator.root_frame(function)
    values = analysis.evaluator.values(call.func, frame)
    names = {each.name for each in values if isinstance(each, ExternalName)}
    for value in values:
        names |= analysis.evaluator.outside_bases(value.made) if isinstance(value, ClassValue) else set()
    return any(".optim" in name or _is_trainer(name) for name in names)


def _is_trainer(name: str) -> bool:
    return name.startswith(("transformers.", "trl.")) and name.endswith("Trainer")

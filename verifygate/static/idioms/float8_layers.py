"""Find the layers that compute in float8: which regions of Transformer Engine run, and which are converted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.framework_names import FABRIC, LIGHTNING
from verifygate.static.amp.constructor_arguments import argument
from verifygate.static.amp.float8_regions import PACKAGE
from verifygate.static.analysis import Analysis
from verifygate.static.facts.region_coverage import Cover
from verifygate.static.idioms.module_layers import Layer, layers_of
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Bound, ExternalResult, Literal, Object

CONVERTER = "convert_to_float8_training"
"""torchao's function that puts float8 layers in the place of linear ones."""
LIGHTNING_WORD = "transformer-engine"
"""How the precisions of Lightning begin that put Transformer Engine's layers in the place of torch's."""
_TAKES_MODEL = {"fit": (LIGHTNING.makers, "model"), "setup": (FABRIC.makers, "module")}


@record(eq=False)
class Conversion:
    """A call that converts a model's linear layers, or a training that does."""

    place: Location
    model: Bound
    filtered: bool = False
    """Whether the caller says which layers are converted."""
    pads: bool | None = False
    """Whether layers of any size do: they are padded, or float8 is emulated. None where the settings are not known."""


@record(eq=False)
class LayerRun:
    """A layer, and the call by which a float8 region runs it."""

    layer: Layer
    cover: Cover
    place: Location


def covered_calls(analysis: Analysis) -> Iterator[tuple[ast.Call, Function, Cover]]:
    """The calls that a region of Transformer Engine surely covers."""
    coverage = analysis.float8_coverage
    for function in dict.fromkeys((*coverage.regions.by_function, *coverage.reached)):
        for call in function.calls:
            cover = coverage.cover(call, function)
            if cover is not None and cover.certain:
                yield call, function, cover


def layers_run(analysis: Analysis) -> Iterator[LayerRun]:
    """The layers of Transformer Engine that regions run, each as its constructor was entered from the region's model.

    A module of the project runs those that its `forward` calls in a region; what they are made with, its own call says.
    """
    held: list[Layer] = []
    runs: dict[ast.AST, tuple[Cover, Location]] = {}
    for call, function, cover in covered_calls(analysis):
        frame = analysis.evaluator.root_frame(function)
        layers = [each for each in layers_of(call.func, frame, analysis) if each.made.name.startswith(f"{PACKAGE}.")]
        held += layers
        if not any(isinstance(value, Object) for value in analysis.evaluator.values(call.func, frame)):
            for layer in layers:
                runs.setdefault(layer.place.node, (cover, Location(function, call)))
    for layer in held:
        if layer.place.node in runs:
            yield LayerRun(layer, *runs[layer.place.node])


def torchao_conversions(analysis: Analysis) -> Iterator[Conversion]:
    """The calls of torchao's `convert_to_float8_training`."""
    for module in analysis.modules:
        if not module.mentions(CONVERTER.encode()) or module.file.is_test:
            continue
        for function in module.all_functions:
            frame = analysis.evaluator.root_frame(function)
            for call in function.calls:
                name = analysis.roles.known_name(call.func, frame)
                if not name.startswith("torchao.") or name.rpartition(".")[2] != CONVERTER:
                    continue
                made = ExternalResult(name, ((call, frame),))
                if (model := argument(made, "module", 0)) is None:
                    continue
                chosen = argument(made, "module_filter_fn", 9)
                nothing = chosen is None or analysis.evaluator.values(chosen.expr, chosen.frame) == (Literal(None),)
                spread = any(word.arg is None for word in call.keywords)
                yield Conversion(Location(function, call), model, spread or not nothing, _pads(made, analysis))


def _pads(made: ExternalResult, analysis: Analysis) -> bool | None:
    """Whether the configuration of a conversion lets layers of any size through."""
    config = argument(made, "config", 9)
    if config is None:
        return False
    found: set[bool | None] = set()
    for value in analysis.evaluator.values(config.expr, config.frame):
        if value == Literal(None) or (
            isinstance(value, ExternalResult) and value.name.rpartition(".")[2] == "from_recipe_name"
        ):
            found.add(False)
        elif isinstance(value, ExternalResult) and value.name.rpartition(".")[2] == "Float8LinearConfig":
            given = [each for word in ("emulate", "pad_inner_dim") if (each := argument(value, word, 99)) is not None]
            truths = {analysis.evaluator.truth(each.expr, each.frame) for each in given}
            found.add(None if None in truths else True in truths)
        else:
            found.add(None)
    return found.pop() if len(found) == 1 else None


def lightning_conversions(analysis: Analysis) -> Iterator[Conversion]:
    """The calls that hand Lightning or Fabric a model, whose precision is Transformer Engine's."""
    for module in analysis.modules:
        if not module.mentions(LIGHTNING_WORD.encode()) or module.file.is_test:
            continue
        for function in module.all_functions:
            for call in function.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr in _TAKES_MODEL:
                    yield from _handed_over(call, call.func, function, analysis)


def _handed_over(call: ast.Call, method: ast.Attribute, function: Function, analysis: Analysis) -> Iterator[Conversion]:
    frame = analysis.evaluator.root_frame(function)
    makers, keyword = _TAKES_MODEL[method.attr]
    trainers = analysis.evaluator.values(method.value, frame)
    model = argument(ExternalResult("", ((call, frame),)), keyword, 0)
    if model is None or not trainers:
        return
    for each in trainers:
        precision = (
            argument(each, "precision", 99) if isinstance(each, ExternalResult) and each.name in makers else None
        )
        words = analysis.evaluator.values(precision.expr, precision.frame) if precision is not None else ()
        if not words or not all(isinstance(word, Literal) and _is_of_engine(word.value) for word in words):
            return
    yield Conversion(Location(function, call), model)


def _is_of_engine(word: object) -> bool:
    return isinstance(word, str) and word.startswith(LIGHTNING_WORD)

"""Optimizers over half parameters, which a cast or a dtype made so, and the scalers that step them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record, replace
from verifygate.framework_names import TRANSFORMERS
from verifygate.rule_codes import Gap
from verifygate.static.amp.roles import ScalerKind
from verifygate.static.analysis import Analysis, memoised
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.facts.framework_precisions import Handle, Precision
from verifygate.static.facts.module_dtypes import ModuleDtype
from verifygate.static.idioms.framework_optimizers import FrameworkOptimizer, framework_optimizers
from verifygate.static.idioms.half_switches import half_where_scaled, settings_are_parsed
from verifygate.static.idioms.trained_parameters import model_of, models_in, takes_copies, takes_some
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Bound, ClassValue, ExternalName, ExternalResult, Frame, Object, Value

_OPTIMIZERS = "torch.optim."
_UNSCALES_ITSELF = "_step_supports_amp_scaling"
"""An optimizer with this attribute takes the scale itself: the scaler hands it over and unscales nothing."""
WEIGHTS = Gap.LOW_PRECISION_WEIGHTS.value
"""The rule about half weights that are stepped, under which what is open of the dtype of weights is told."""
ABOUT_WEIGHTS = ("AMP4", "AMP7")
"""The rules that tell of a cast what comes of weights that it makes half."""
_PREPARES = frozenset({"prepare", "prepare_optimizer", "setup", "setup_optimizers"})
_ADAPTED = "peft.get_peft_model"
_QUANTIZED = frozenset({"quantization_config", "load_in_4bit", "load_in_8bit"})
"""Arguments with which a library loads weights that are not trained."""
Refused = tuple[ModuleDtype, Location, Location]
"""The cast, the optimizer that has the parameters, and the step that refuses their gradients."""


@record(eq=False)
class HalfOptimizer:
    """A call that builds an optimizer over parameters that may be of a half dtype."""

    name: str
    call: ast.Call
    function: Function
    way: ModuleDtype
    model: ast.expr
    """Whose parameters it has."""
    built: FrameworkOptimizer | None = None
    """The same where a framework steps it."""

    @property
    def place(self) -> Location:
        return Location(self.function, self.call)

    @property
    def options(self) -> dict[str | None, ast.expr]:
        return {word.arg: word.value for word in self.call.keywords}


@memoised
def half_optimizers(
    analysis: Analysis, dtype: Dtype = Dtype.FLOAT16, packages: tuple[str, ...] = (_OPTIMIZERS,)
) -> Iterator[HalfOptimizer]:
    """The optimizers of torch over parameters of a half dtype, where a function of the picked modules builds them."""
    of_frameworks = {each.call: each for each in framework_optimizers(analysis)}
    for call, function in _may_build_optimizers(analysis):
        frame = analysis.evaluator.root_frame(function)
        values = analysis.evaluator.values(call.func, frame)
        names = [each.name for each in values if isinstance(each, ExternalName)]
        if len(names) != len(values) or not names or not names[0].startswith(packages) or "lr_sch" in names[0]:
            continue
        built = of_frameworks.get(call)
        cast = half_models(analysis, call, frame, dtype)
        found = cast[0] if cast else _half_by_precision(call, frame, built, dtype)
        if found is not None:
            yield HalfOptimizer(names[0].rpartition(".")[2], call, function, found[1], found[0], built)


@memoised
def _may_build_optimizers(analysis: Analysis) -> Iterator[tuple[ast.Call, Function]]:
    """The calls that may build an optimizer, by how they are written."""
    for call, function in analysis.calls:
        if last_name(call.func)[:1].isupper() or "optim" in ast.unparse(call.func):
            yield call, function


def _half_by_precision(
    call: ast.Call, frame: Frame, built: FrameworkOptimizer | None, dtype: Dtype
) -> tuple[ast.expr, ModuleDtype] | None:
    """The parameters that a framework casts by its precision; those that it makes float16 are AMP608's to judge."""
    if built is None or dtype is not Dtype.BFLOAT16 or not built.handle.may_be(Precision.TRUE_BFLOAT16):
        return None
    given, place = _parameters_given(call), built.handle.place
    if place is None or not given or takes_some(given[0], frame) or takes_copies(given[0], frame):
        return None
    return given[0], ModuleDtype(dtype, place, built.handle.is_surely(Precision.TRUE_BFLOAT16))


def _parameters_given(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(word.value for word in call.keywords if word.arg == "params")]


def half_way(call: ast.Call, frame: Frame, analysis: Analysis) -> ModuleDtype | None:
    """The way in which the parameters that an optimizer is given may be float16."""
    return next((way for _, way in half_models(analysis, call, frame, Dtype.FLOAT16)), None)


@memoised
def half_models(
    analysis: Analysis, call: ast.Call, frame: Frame, dtype: Dtype
) -> Iterator[tuple[ast.expr, ModuleDtype]]:
    """The models whose parameters an optimizer is given that may be of a half dtype, each with the way in which.

    None where only some of a module's parameters are taken: those that are trained may be float32, and that is said.
    Nor where it is given copies in float32.
    """
    given = _parameters_given(call)
    if not given or takes_copies(given[0], frame):
        return
    if _is_lifted(frame.function, analysis):
        return
    for model in models_in(given[0], frame, analysis.evaluator):
        way = way_at(call, dtype, model, frame, analysis)
        if way is None:
            tell_what_is_open(model, frame, analysis)
        if way is None or _is_lifted(way.cast.function, analysis):
            continue
        if takes_some(given[0], frame):
            reason = f"whether the parameters of `{ast.unparse(model)}` that are taken here are {dtype} cannot be told"
            analysis.gave_up(Location(frame.function, call), reason, WEIGHTS)
        else:
            yield model, way


def way_at(node: ast.AST, dtype: Dtype, model: ast.expr, frame: Frame, analysis: Analysis) -> ModuleDtype | None:
    """The first way in which a model may be of a dtype in a run that comes to a node, a sure one before others."""
    place = Location(frame.function, node)
    ways = [each for each in analysis.module_dtypes.of(model, frame) if each.dtype is dtype]
    ways = [each for each in ways if analysis.path_conditions.agree(each.cast, place)]
    whole = [replace(each, sure=False) for each in ways if not is_quantized(each.cast.node)]
    if whole and len(whole) < len(ways):
        ways = whole  # quantized weights are not trained; those of the other path are
    return min(ways, key=lambda each: not each.sure, default=None)


def tell_what_is_open(model: ast.expr, frame: Frame, analysis: Analysis) -> None:
    """Note the casts by which a model may be half all the same, for all rules that ask for the dtype of weights."""
    for each in analysis.module_dtypes.open_casts(model, frame) if not frame.function.module.file.is_test else ():
        reason = f"whether the weights of `{ast.unparse(model)}` are half by this cast cannot be told"
        analysis.gave_up(each.cast, reason, WEIGHTS)


def halved_in_place(analysis: Analysis) -> Iterator[Location]:
    """What writes half data into parameters one by one: `layer.weight.data = layer.weight.data.half()`."""
    for function in analysis.functions:
        frame = analysis.evaluator.root_frame(function)
        for put in function.of_kind(ast.Assign):
            match put:
                case ast.Assign(targets=[ast.Attribute(attr="data")], value=ast.Call() as call):
                    if any(each.dtype in HALVES for each in analysis.module_dtypes.cast(call, frame)):
                        yield Location(function, put)


def lifts_in_place(function: Function, analysis: Analysis) -> bool:
    """Whether a function, or one that it calls, puts float32 data into parameters: `p.data = p.data.float()`."""
    parts = [function, *(callee for call in function.calls for callee in analysis.call_graph.callees(call, function))]
    puts = (each for part in parts for each in part.of_kind(ast.Assign))
    return any(
        last_name(each.targets[0]) == "data" and isinstance(each.value, ast.Call) and casts_to_float32(each.value)
        for each in puts
        if isinstance(each.targets[0], ast.Attribute)
    )


def is_quantized(made: ast.AST) -> bool:
    """Whether a call loads a model in integers or four bits, which are not trained: adapters are."""
    return isinstance(made, ast.Call) and any(
        word.arg in _QUANTIZED and not (isinstance(word.value, ast.Constant) and not word.value.value)
        for word in made.keywords
    )


def takes_unfrozen(optimizer: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether an optimizer is given only some parameters, in a function that freezes others, itself or by a call."""
    calls = [each for value in analysis.evaluator.values(optimizer, frame) for each in optimizer_calls(value)]
    return bool(calls) and all(
        call.args and takes_some(call.args[0], home) and _freezes(home.function, analysis) for call, home in calls
    )


def takes_copied(optimizer: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether an optimizer is given copies of parameters, such as the float32 masters of half weights."""
    calls = [each for value in analysis.evaluator.values(optimizer, frame) for each in optimizer_calls(value)]
    return bool(calls) and all(call.args and takes_copies(call.args[0], home) for call, home in calls)


def _freezes(function: Function, analysis: Analysis) -> bool:
    parts = [function, *(callee for call in function.calls for callee in analysis.call_graph.callees(call, function))]
    return any(_may_freeze(node) for part in parts for node in part.own_nodes)


def _may_freeze(node: ast.AST) -> bool:
    """Whether a node sets what needs gradients to anything but True: to False, to `"lora" in name`, to a parameter."""
    given: list[ast.expr] = []
    match node:
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=args, keywords=words):
            given = [*args, *(word.value for word in words)]
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad"), *_], value=value):
            given = [value]
    return any(not isinstance(each, ast.Constant) or each.value is False for each in given)


def optimizer_calls(value: Value) -> tuple[tuple[ast.Call, Frame], ...]:
    """The call that built an optimizer of torch; none of any other value."""
    is_optimizer = isinstance(value, ExternalResult) and value.name.startswith(_OPTIMIZERS)
    return value.calls if is_optimizer else ()  # type: ignore[union-attr]


def casts_to_float32(call: ast.Call) -> bool:
    """Whether it is `x.float()`, or `x.to(torch.float32)` with whatever else."""
    given = [*call.args, *(word.value for word in call.keywords)]
    to_float = last_name(call.func) == "to" and any(last_name(each) in ("float32", "float") for each in given)
    return to_float or (last_name(call.func) == "float" and not given)


def _is_lifted(function: Function, analysis: Analysis) -> bool:
    """Whether a function, or one that it calls, makes parameters float again: `p.data = p.data.float()`."""
    parts = [function, *(callee for call in function.calls for callee in analysis.call_graph.callees(call, function))]
    return any(
        isinstance(call.func, ast.Attribute)
        and casts_to_float32(call)
        and isinstance(model_of(call.func.value), ast.Attribute)
        and last_name(model_of(call.func.value)) in ("data", "weight", "bias", "grad")
        and not _is_only_shown(call, part, analysis)
        for part in parts
        for call in part.calls
    )


def _is_only_shown(value: ast.expr, function: Function, analysis: Analysis) -> bool:
    """Whether a value becomes text, or goes to a builtin whose result nobody takes: `print(weight.float().norm())`."""
    around: ast.AST | None = value
    while isinstance(around, ast.expr):
        outer = analysis.enclosing.parent(around, function)
        if isinstance(around, ast.JoinedStr):
            return True
        if isinstance(around, ast.Call) and isinstance(outer, ast.Expr):
            frame = analysis.evaluator.root_frame(function)
            return analysis.roles.known_name(around.func, frame).startswith("builtins.")
        around = outer
    return False


def refused_steps(analysis: Analysis) -> Iterator[Refused]:
    """Steps of optimizers whose parameters a cast in another function, or a dtype that is handed on, made half."""
    for step in analysis.scaler_calls:
        if step.method not in ("step", "unscale_") or step.optimizer is None:
            continue
        if step.scaler.kind is ScalerKind.IDLE or is_unscaled_for(step.optimizer, step.frame, analysis) is False:
            continue
        if any(makes_float(each, analysis) for each in analysis.call_graph.above(step.function)):
            continue
        for value in analysis.evaluator.values(step.optimizer, step.frame):
            for call, home in optimizer_calls(value):
                way = half_way(call, home, analysis)
                if way is None or way.cast.function is step.function:
                    continue  # what is cast where it is stepped is judged by its conditions
                if _run_together(way.cast, step.place, analysis):
                    yield way, Location(home.function, call), step.place


@memoised
def refused_by_a_framework(analysis: Analysis) -> Iterator[Refused]:
    """Half parameters that a framework with a GradScaler trains: what it is given to prepare, and a Trainer's model."""
    matters = bool(analysis.frameworks.instances) or settings_are_parsed(analysis)
    for call, function in analysis.calls if matters else ():
        frame = analysis.evaluator.root_frame(function)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _PREPARES:
            owner = Bound(call.func.value, frame)
            handle = analysis.frameworks.handle(owner.expr, frame)
            if handle is None or handle.scales is False or handle.place is None:
                continue
            for value in (each for given in call.args for each in analysis.evaluator.values(given, frame)):
                for built, home in optimizer_calls(value):
                    way = half_way(built, home, analysis)
                    if way is not None and not handle.scales:
                        way = half_where_scaled(way, handle.framework, owner, handle, analysis)
                    if way is not None:
                        yield way, Location(home.function, built), handle.place
        elif (found := _half_in_a_scaling_trainer(call, frame, analysis)) is not None:
            yield found, Location(function, call), Location(function, call)


def _half_in_a_scaling_trainer(call: ast.Call, frame: Frame, analysis: Analysis) -> ModuleDtype | None:
    """The way in which the model of a Trainer with a GradScaler is half, or of one that has it where the model is."""
    found = half_in_a_trainer(call, frame, analysis)
    if found is None:
        return None
    way, handle = found
    if handle is not None and handle.scales is not None:
        return way if handle.scales else None
    settings = next(word.value for word in call.keywords if word.arg == "args")
    half = half_where_scaled(way, TRANSFORMERS, Bound(settings, frame), handle, analysis)
    return half if _is_run(call, frame, analysis) else None


def _is_run(call: ast.Call, frame: Frame, analysis: Analysis) -> bool:
    """Whether the function trains by the Trainer that a call makes, and does not only evaluate."""
    parent = analysis.enclosing.parent(call, frame.function)
    names = {ast.unparse(target) for target in parent.targets} if isinstance(parent, ast.Assign) else set()
    return any(
        isinstance(each.func, ast.Attribute)
        and each.func.attr == "train"
        and (each.func.value is call or ast.unparse(each.func.value) in names)
        for each in frame.function.calls
    )


def half_in_a_trainer(
    call: ast.Call, frame: Frame, analysis: Analysis, dtype: Dtype = Dtype.FLOAT16
) -> tuple[ModuleDtype, Handle | None] | None:
    """The way in which the model of transformers' Trainer is of a half dtype, and the settings that it trains with.

    None for settings that nothing in sight makes, as those that a command line gives.
    """
    given = {word.arg: word.value for word in call.keywords}
    settings, model = given.get("args"), given.get("model", call.args[0] if call.args else None)
    if settings is None or model is None or "peft_config" in given or not _is_a_trainer(call, frame, analysis):
        return None
    handle = analysis.frameworks.handle(settings, frame)
    if _freezes(frame.function, analysis):
        return None
    way = way_at(call, dtype, model, frame, analysis)
    for value in analysis.frameworks.values_at(model, frame):
        if isinstance(value, ExternalResult) and value.name == _ADAPTED and value.calls:
            way = _half_adapters(*value.calls[0], dtype, analysis)
    return None if way is None else (way, handle)


def _half_adapters(call: ast.Call, frame: Frame, dtype: Dtype, analysis: Analysis) -> ModuleDtype | None:
    """The way in which PEFT's adapters are half: those of a half model, unless PEFT makes them float32, as it does."""
    kept = [word.value for word in call.keywords if word.arg == "autocast_adapter_dtype"]
    if not kept or not call.args or analysis.evaluator.truth(kept[0], frame) is not False:
        return None
    return way_at(call, dtype, call.args[0], frame, analysis)


def _is_a_trainer(call: ast.Call, frame: Frame, analysis: Analysis) -> bool:
    """Whether a call builds transformers' Trainer, or one that derives from it."""
    for value in analysis.evaluator.values(call.func, frame):
        if isinstance(value, ExternalName) and value.name in TRANSFORMERS.hosts:
            return True
        if isinstance(value, ClassValue) and analysis.frameworks.host(value.made) is TRANSFORMERS:
            return True
    return False


def whose_dtype(expr: ast.expr) -> ast.expr | None:
    """The module whose weight's dtype an expression is: `base.weight.dtype`, `next(base.parameters()).dtype`."""
    match expr:
        case ast.Attribute(value=ast.Attribute(value=base, attr="weight" | "bias"), attr="dtype"):
            return base
        case ast.Attribute(
            value=ast.Call(
                func=ast.Name(id="next"), args=[ast.Call(func=ast.Attribute(value=base, attr="parameters"))]
            ),
            attr="dtype",
        ):
            return base
    return None


def _run_together(cast: Location, step: Location, analysis: Analysis) -> bool:
    """Whether one program runs both, and no condition of one denies the other."""
    return cast.path in analysis.import_graph.together(step.path) and analysis.path_conditions.agree(cast, step)


def step_of_program(place: Location, analysis: Analysis) -> Location | None:
    """A step of a live scaler in a program that builds the class of a place, and that leads to the step."""
    callers = {site.caller for site in analysis.call_graph.sites(place.function)}
    for step in analysis.scaler_calls:
        if step.method != "step" or step.scaler.kind is ScalerKind.IDLE or makes_float(step.function, analysis):
            continue
        if lifts_in_place(step.function, analysis):
            continue
        if any(analysis.call_graph.common(each, step.function) for each in callers):
            return step.place
    return None


def is_unscaled_for(optimizer: ast.expr, frame: Frame, analysis: Analysis) -> bool | None:
    """Whether the scaler's step unscales for the optimizer that it is given; None where that cannot be told."""
    evaluator = analysis.evaluator
    found: list[bool | None] = []
    for value in evaluator.values(optimizer, frame):
        match value:
            case Object(made=made) if any(_UNSCALES_ITSELF in each.attributes for each in evaluator.linearised(made)):
                found.append(False)
            case ExternalResult(name=name) if name.startswith("torch.optim."):
                found.append(True)
            case Object(made=made) if any(base.startswith("torch.optim.") for base in evaluator.outside_bases(made)):
                found.append(True)
            case _:
                found.append(None)
    return found[0] if len(set(found)) == 1 else None


def makes_float(function: Function, analysis: Analysis) -> bool:
    """Whether a function makes some model float: where its result is dropped, a cast of a tensor would do nothing."""
    dropped = {each.value for each in function.of_kind(ast.Expr)}
    return any(
        isinstance(cast := call.func, ast.Attribute)
        and cast.attr == "float"
        and not isinstance(model_of(cast.value), ast.Call)  # `model(x).float()` casts what the model gives
        and (call in dropped or analysis.hot_loops.is_model(cast.value, function))
        for call in function.calls
    )

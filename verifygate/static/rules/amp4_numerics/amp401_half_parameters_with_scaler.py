"""A model's parameters are made half, and a GradScaler steps them.

## What it does
Reports `model.half()` and `model.to(torch.float16)` in a function that later steps with a scaler, or whose class or
caller does, if the model is not made float again. A dtype that is handed on by an argument, an attribute or a constant
counts, and so do parameters that are made in the dtype of a half module. Where Accelerate, Fabric or transformers'
Trainer computes in fp16, it has a GradScaler: half parameters that it is given count, and half adapters of PEFT. The
value of the option need not be known where one option does both: `dtype = torch.float16 if args.fp16 else ...` and
`Trainer(args=args)`. So do the weights that a YAML of axolotl, LLaMA-Factory or TRL gives the Trainer.

- Certain if the optimizer is known to get this model's parameters. Not reported if it is known to get only other
  models' parameters.
- Likely behind a condition, which has to be the one that switches the scaler on or that leads to its step.
- Not reported if the function only evaluates the model, nor if the optimizer's class sets
  `_step_supports_amp_scaling`, because the scaler then leaves unscaling to it.

## Impact
The first `unscale_` or step raises a ValueError; with a fused optimizer the weights are trained in half precision
instead.

## Why is this bad
A scaler divides gradients in float32 and refuses half ones: dividing in half would flush to zero what scaling had
saved. Autocast needs no half parameters: it casts what it needs, and the optimizer keeps weights that can hold small
steps.

## What happens at run time
`ValueError: Attempting to unscale FP16 gradients.` at the first step or `unscale_` (2.13). With one of torch's fused
optimizers and no explicit `unscale_` nothing raises, and the weights are trained in half.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    model.half()
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: whether anything else relies on half parameters is not known here.

## What it cannot see
A model that is made half in another function than the one that steps, except for a method of the same class, a
function that returns the model or builds its optimizer, and one that a loop over epochs calls with the model beside the
function that steps. Parameters that are made half one by one.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

import ast
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.static.amp.roles import ScalerKind
from verifygate.static.analysis import Analysis
from verifygate.static.facts.delegation import WORDS
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.module_dtypes import ModuleDtype
from verifygate.static.idioms.half_switches import PARSED, settings_are_parsed
from verifygate.static.idioms.half_weights import (
    casts_to_float32,
    is_unscaled_for,
    lifts_in_place,
    makes_float,
    refused_by_a_framework,
    refused_steps,
    step_of_program,
    takes_copied,
    takes_unfrozen,
    whose_dtype,
)
from verifygate.static.idioms.trained_parameters import asks_another, is_built_for, is_frozen, is_trained, model_of
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.call_graph import Site
from verifygate.static.values.domain import Bound, Frame, Unknown

_COMPARED = r"(?<![=!]= torch\.{0})(?<!\bin [(\[{{]torch\.{0})(?<!\btorch\.bfloat16, torch\.{0})"
_HALF = "|".join(rf"torch\.{name}\b{_COMPARED.format(name)}" for name in ("float16", "half"))
"""The dtype as a value that may reach a cast: not what another one is compared with."""

RULE = Rule(
    code="AMP401",
    name="half-parameters-with-scaler",
    severity=Severity.CRITICAL,
    summary="a model's parameters are made half, and a GradScaler steps them",
    remedy="leave the parameters in float32: autocast casts what it needs",
    words=(
        ".half(",
        ".to(torch.float16",
        ".to(torch.half",
        "dtype=torch.float16",
        "scaler",
        "GradScaler",
        PARSED,
        *WORDS,
    ),
    witnesses=(Witness.STATIC, Witness.RUN),
    beside=(_HALF,),
    proof="raised-error",
)

_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_DEPTH = 2
"""Calls through which an optimizer is handed on to its step."""


def looks_beside(analysis: Analysis) -> bool:
    """Whether a scaler may refuse what is half: one of the project's, or a framework's."""
    return bool(analysis.scaler_calls) or bool(analysis.delegation.calls) or settings_are_parsed(analysis)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every cast of a model to half that comes before a scaler's step, and every step of float16 parameters."""
    told = set[object]()
    for match in _casts_before_steps(analysis):
        told.update((match.place.node, _node(match, 1)))
        yield match
    refused = (_refused(*each) for each in (*refused_steps(analysis), *refused_by_a_framework(analysis)))
    for match in (*refused, *_made_in_half(analysis)):
        if told.isdisjoint((match.place.node, _node(match, 0), _node(match, -1))):
            told.add(match.place.node)
            yield match


def _node(match: Match, step: int) -> object:
    """The node at a step of the path, where it stands in the source."""
    return getattr(match.steps[step][0], "node", None)


def _refused(way: ModuleDtype, optimizer: Location, step: Location) -> Match:
    return Match(
        way.cast,
        f"`{statement_text(way.cast)}` makes the parameters half, whose gradients the scaler refuses",
        certain=False,
        steps=((way.cast, "the cast"), (optimizer, "the optimizer"), (step, "the step")),
    )


def _made_in_half(analysis: Analysis) -> Iterator[Match]:
    """Parameters that a class makes in the dtype of a module that is half, as adapters in that of their base."""
    for call, function in analysis.calls:
        if last_name(call.func) != "Parameter" or function.owner is None or not call.args:
            continue
        frame = analysis.evaluator.root_frame(function)
        if analysis.roles.known_name(call.func, frame) not in _PARAMETERS or _is_without_gradient(call):
            continue
        made = [each for each in walk(call.args[0]) if isinstance(each, ast.Call)]  # also of `torch.randn(...) / rank`
        given = [word.value for each in made for word in each.keywords if word.arg == "dtype"]
        if any(map(casts_to_float32, made)):
            continue
        base = whose_dtype(given[0]) if given else None
        way = analysis.module_dtypes.may_be(Dtype.FLOAT16, base, frame) if base is not None else None
        if way is None:
            continue
        place = Location(function, call)
        step = step_of_program(place, analysis)
        if step is not None:
            message = f"`{statement_text(place)}` makes a trained parameter half, whose gradient the scaler refuses"
            remedy = "make the parameter in float32: autocast casts what it needs"
            steps = ((way.cast, "its base is made half"), (place, "the parameter"), (step, "the step"))
            yield Match(place, message, certain=False, steps=steps, remedy=remedy)


def _is_without_gradient(call: ast.Call) -> bool:
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "requires_grad")]
    return any(isinstance(each, ast.Constant) and each.value is False for each in given)


def _casts_before_steps(analysis: Analysis) -> Iterator[Match]:
    """Every cast of a model to half that surely comes before a scaler's step in the same function."""
    for function in analysis.functions:
        if not function.module.mentions(b"half", b"float16") or not _scales_beside(function, analysis):
            continue
        for cast in (node for node in function.calls if _casts_to_half(node, function, analysis)):
            around = analysis.enclosing.conditions(cast, function)
            found = [
                (place, later)
                for place, later in _followed(cast, function, analysis)
                if all(_switches_too(test, holds, later, analysis) for test, holds in around)
                or _is_optimised_there(cast, function, analysis)
            ]
            for place, later in found or _followed_in_the_next_turn(cast, function, analysis):
                yield Match(
                    place,
                    f"`{statement_text(place)}` makes the parameters half, whose gradients the scaler refuses",
                    certain=not around and any(refuses for _, refuses in later),
                    steps=((place, "the cast"), (later[0][0], "the step")),
                )


def _scales_beside(function: Function, analysis: Analysis) -> bool:
    """Whether the file of a function, or one of the same program, speaks of a scaler."""
    module = function.module
    if module.mentions(b"caler"):
        return True
    files = analysis.import_graph.together(module.path)
    return any(call.function.module.path in files for call in analysis.scaler_calls)


def _switches_too(test: ast.expr, holds: bool, steps: list[tuple[Location, bool]], analysis: Analysis) -> bool:
    """Whether what a cast depends on also switches the scaler on, or leads to its step: `if args.fp16:`."""
    for place, _ in steps:
        frame = analysis.evaluator.root_frame(place.function)
        scaler = analysis.roles.scaler(place.node.func.value, frame)  # type: ignore[attr-defined]
        enabled = scaler.enabled.expr if scaler is not None and scaler.enabled is not None else None
        if holds and enabled is not None and ast.unparse(enabled) == ast.unparse(test):
            return True
        conditions = analysis.enclosing.conditions(place.node, place.function)
        if any((ast.unparse(asked), way) == (ast.unparse(test), holds) for asked, way in conditions):
            return True
    return False


def _is_optimised_there(cast: ast.Call, function: Function, analysis: Analysis) -> bool:
    """Whether an optimizer is built for the model where all holds that the cast depends on."""
    around = analysis.enclosing.conditions(cast, function)
    frame = analysis.evaluator.root_frame(function)
    for call in function.calls:
        holding = analysis.enclosing.conditions(call, function)
        if all(each in holding for each in around) and is_built_for(
            ast.unparse(model_of(cast)), function, call, frame, analysis.evaluator
        ):
            return True
    return False


def _followed(
    cast: ast.Call, function: Function, analysis: Analysis
) -> Iterator[tuple[Location, list[tuple[Location, bool]]]]:
    """The cast, with the steps that come after it: in its function, in a method of its object, or where it is called.

    Out of its own function only those steps count whose optimizer is seen to have the model.
    """
    model, steps = _kept_as(cast, function, analysis), _steps(function, analysis)
    names = _also_called(model, function)
    if any(_is_undone(each, function) for each in names) or lifts_in_place(function, analysis):
        return
    later = _that_take(model, steps, cast, function, analysis)
    found = [(Location(function, step), refuses) for step, refuses in later]
    if not steps:
        found += _of_its_optimizer(cast, names, function, analysis)
        found += _in_other_methods(names, function, analysis)
        if any(ast.unparse(model_of(each)) in names for each in function.returns):
            found += _in_callers(function, analysis)
    if found:
        yield Location(function, cast), found


def _followed_in_the_next_turn(
    cast: ast.Call, function: Function, analysis: Analysis
) -> Iterator[tuple[Location, list[tuple[Location, bool]]]]:
    """The cast of a model that a function is given, with the steps of what its caller's loop gives the same model.

    An evaluation in half between two epochs: what it casts in place stays half.
    """
    model = model_of(cast)
    if not isinstance(model, ast.Name) or _is_undone(model.id, function):
        return
    found = [
        (Location(entered.function, step), False)
        for site, bound in analysis.call_graph.given(model.id, function)
        if not _is_undone(ast.unparse(bound.expr), site.caller)
        for entered in _beside(site, analysis)
        if any(ast.unparse(each.expr) == ast.unparse(bound.expr) for each in entered.arguments.values())
        for step, _ in _steps(entered.function, analysis)
    ]
    if found:
        yield Location(function, cast), found


def _beside(site: Site, analysis: Analysis) -> Iterator[Frame]:
    """What the other calls run that stand in the loops around a call."""
    loops = analysis.enclosing.loops(site.call, site.caller)
    for call in site.caller.calls:
        if call is not site.call and any(loop in loops for loop in analysis.enclosing.loops(call, site.caller)):
            yield from analysis.call_graph.entered(call, site.caller)


def _also_called(model: str, function: Function) -> set[str]:
    """The name of a model and those that the function gives it besides: `self.net = net.half()`."""
    assigned = [each for each in function.of_kind(ast.Assign) if isinstance(each.value, ast.Name | ast.Call)]
    same = (each for each in assigned if ast.unparse(model_of(each.value)) == model)
    return {model, *(ast.unparse(target) for each in same for target in each.targets)} - {""}


def _of_its_optimizer(
    cast: ast.Call, names: set[str], function: Function, analysis: Analysis
) -> Iterator[tuple[Location, bool]]:
    """The steps elsewhere of an optimizer that the function builds for the model, and returns or hands on."""
    for step in analysis.scaler_calls:
        if step.method not in ("step", "unscale_") or step.optimizer is None:
            continue
        if None is not function.owner is step.function.owner:
            continue
        for optimizer, frame, site in _handed_on(step.optimizer, step.frame, analysis):
            if site is not None and site.caller is function and site.call.lineno < cast.lineno:
                continue  # its training is over
            if takes_unfrozen(optimizer, frame, analysis) or takes_copied(optimizer, frame, analysis):
                continue
            if any(is_built_for(each, function, optimizer, frame, analysis.evaluator) for each in names):
                refuses = step.method == "unscale_" or is_unscaled_for(optimizer, frame, analysis)
                if refuses is not False:
                    values = analysis.evaluator.values(optimizer, frame)
                    yield step.place, bool(refuses) and not any(isinstance(each, Unknown) for each in values)


def _handed_on(
    optimizer: ast.expr, frame: Frame, analysis: Analysis, depth: int = _DEPTH
) -> Iterator[tuple[ast.expr, Frame, Site | None]]:
    """What a step is given, and where it is a parameter, what the calls of its function give, and the call.

    Not through functions that make a model float.
    """
    if makes_float(frame.function, analysis):
        return
    yield optimizer, frame, None
    if depth and isinstance(optimizer, ast.Name):
        for site, bound in _handed_in(optimizer.id, frame.function, analysis):
            for expr, home, above in _handed_on(bound.expr, bound.frame, analysis, depth - 1):
                yield expr, home, above or site


def _handed_in(name: str, function: Function, analysis: Analysis) -> Iterator[tuple[Site, Bound]]:
    """What the calls of a function give for a parameter, or for a name that it unpacks from a list of optimizers."""
    yield from analysis.call_graph.given(name, function)
    for binding in function.scope.names.get(name, ()):
        if binding.kind == "item" and isinstance(binding.expr, ast.Name):
            for site, bound in analysis.call_graph.given(binding.expr.id, function):
                match bound.expr:
                    case ast.List(elts=parts) | ast.Tuple(elts=parts) if binding.position < len(parts):
                        yield site, Bound(parts[binding.position], bound.frame)


def _in_other_methods(names: set[str], function: Function, analysis: Analysis) -> Iterator[tuple[Location, bool]]:
    """The steps in other methods of the class that surely take the parameters of an attribute, or of what it was."""
    if function.owner is None or not any(each.startswith("self.") for each in names):
        return
    frame = analysis.evaluator.root_frame(function)
    methods = [each for each in function.owner.methods.values() if each is not function]
    if any(_is_undone(name, each) for name in names for each in methods):
        return
    for method in methods:
        for step, refuses in _steps(method, analysis):
            if step.args and any(is_trained(each, step.args[0], frame, analysis.evaluator) for each in names):
                yield Location(method, step), refuses


def _in_callers(function: Function, analysis: Analysis) -> Iterator[tuple[Location, bool]]:
    """The steps that surely take what the function returns, after it is called."""
    for site in analysis.call_graph.sites(function):
        steps = _steps(site.caller, analysis)
        model = _kept_as(site.call, site.caller, analysis) if steps else ""
        if model and not _is_undone(model, site.caller):
            later = _that_take(model, steps, site.call, site.caller, analysis)
            yield from ((Location(site.caller, step), True) for step, refuses in later if refuses)


def _casts_to_half(node: ast.Call, function: Function, analysis: Analysis) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    frame = analysis.evaluator.root_frame(function)
    half = node.func.attr == "half" and not node.args
    if node.func.attr == "to":
        given = [*node.args, *(word.value for word in node.keywords)]
        half = any(analysis.roles.known_name(each, frame) in ("torch.float16", "torch.half") for each in given)
    if not half or not (kept := _kept_as(node, function, analysis)):
        return False
    return analysis.hot_loops.is_model(model_of(node), function) or _has_parameters(kept, function)


def _has_parameters(name: str, function: Function) -> bool:
    """Whether a function asks for the parameters of something, as of `model` in `model = resnet18().half()`."""
    asked = (call.func for call in function.calls if isinstance(call.func, ast.Attribute))
    return any(each.attr == "parameters" and ast.unparse(each.value) == name for each in asked)


def _kept_as(cast: ast.Call, function: Function, analysis: Analysis) -> str:
    """The name of the model, which a cast changes in place; of a new model, the one it gets, empty for none."""
    model = model_of(cast)
    if not isinstance(model, ast.Call):
        return ast.unparse(model)
    around = (each.node for each in analysis.enclosing.around(cast, function))
    outer = next(node for node in around if not isinstance(node, ast.Attribute | ast.Call))
    return ast.unparse(outer.targets[0]) if isinstance(outer, ast.Assign) else ""


def _steps(function: Function, analysis: Analysis) -> list[tuple[ast.Call, bool]]:
    """Where a scaler unscales in the function, or may; and whether it surely does."""
    frame = analysis.evaluator.root_frame(function)
    found = []
    for node in function.calls:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("step", "unscale_"):
            scaler = analysis.roles.scaler(node.func.value, frame)
            refuses = node.func.attr == "unscale_" or (
                is_unscaled_for(node.args[0], frame, analysis) if node.args else None
            )
            if scaler is not None and scaler.kind is not ScalerKind.IDLE and refuses is not False:
                found.append((node, bool(refuses)))
    return found


def _that_take(
    model: str, steps: list[tuple[ast.Call, bool]], cast: ast.Call, function: Function, analysis: Analysis
) -> list[tuple[ast.Call, bool]]:
    """The steps after a cast that may be for the parameters of the model, and whether they surely refuse them."""
    frame = analysis.evaluator.root_frame(function)
    found = []
    for step, refuses in steps:
        trained = is_trained(model, step.args[0], frame, analysis.evaluator) if step.args else None
        trained = False if trained is None and is_frozen(model, frame) else trained
        if step.args and (takes_unfrozen(step.args[0], frame, analysis) or takes_copied(step.args[0], frame, analysis)):
            trained = False  # of what is frozen in half, or copied from it, nothing is stepped
        if trained is None and step.args and asks_another(model, step.args[0], frame, analysis.evaluator):
            analysis.gave_up(Location(function, step), f"whether `{model}`, which is half, is stepped here", RULE.code)
            continue
        if step.lineno > Location(function, cast).line and trained is not False:
            found.append((step, refuses and trained is True))
    return found


def _is_undone(name: str, function: Function) -> bool:
    """Whether the function makes a model of that name float again."""
    return any(node.attr == "float" and ast.unparse(node.value) == name for node in function.of_kind(ast.Attribute))

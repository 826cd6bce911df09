"""Options that make a model half and switch a framework's GradScaler on: `fp16` of the settings of a Trainer.

What the option is in a run is not known, nor need it be: where the weights are float16, the scaler is on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.framework_names import ACCELERATE, TRANSFORMERS, Framework
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.framework_precisions import Handle
from verifygate.static.facts.module_dtypes import ModuleDtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Bound, Frame

PARSED = "parse_args_into_dataclasses"
"""By which transformers makes the settings of a Trainer out of a command line or a file."""
_Name = tuple[Function, str]
"""What an expression is called, and where: of a parameter, what it is called by who hands it in."""
_SCALES = {TRANSFORMERS: "{}.fp16", ACCELERATE: "{}.mixed_precision == 'fp16'"}
"""What of a framework's own object is true where it scales."""
_GIVEN = {TRANSFORMERS: ("fp16", "{}"), ACCELERATE: ("mixed_precision", "{} == 'fp16'")}
"""The argument that a framework is given, and what of it is true where it scales."""
_MAX_STEPS = 5


def half_where_scaled(
    way: ModuleDtype, framework: Framework, owner: Bound, handle: Handle | None, analysis: Analysis
) -> ModuleDtype | None:
    """The choice of float16 that makes a model half where an option holds that gives `owner` of a framework its scaler.

    None where no option is known to do both.
    """
    if framework not in _SCALES:
        return None
    switches = {_called(_SCALES[framework], owner, analysis)}
    keyword, scales = _GIVEN[framework]
    for each in handle.instances if handle is not None and handle.followed else ():
        if (given := each.given(keyword)) is not None:
            switches.add(_called(scales, Bound(given, each.frame), analysis))
    for frame, place in _made_half(way, analysis):
        for test, holds in analysis.path_conditions.leaves(place):
            if holds and _called("{}", Bound(test, frame), analysis) in switches:
                return replace(way, cast=place)
    return None


def settings_are_parsed(analysis: Analysis) -> bool:
    """Whether a program of the project has such settings, which no call in sight gives a precision."""
    return any(module.mentions(PARSED.encode()) for module in analysis.modules)


def _made_half(way: ModuleDtype, analysis: Analysis) -> Iterator[tuple[Frame, Location]]:
    """Where a dtype is chosen that makes the weights float16, and the cast or the call itself."""
    yield analysis.evaluator.root_frame(way.cast.function), way.cast
    if way.said is not None:
        for half in _halves(way.said, analysis, _MAX_STEPS):
            yield half.frame, Location(half.frame.function, half.expr)


def _halves(said: Bound, analysis: Analysis, steps: int) -> Iterator[Bound]:
    """The expressions for float16 that a dtype may come from, where every condition on them is a branch."""
    frame = said.frame
    match said.expr:
        case ast.IfExp(body=body, orelse=orelse):
            arms = [Bound(body, frame), Bound(orelse, frame)]
        case ast.Name():
            arms = [
                Bound(binding.expr, home)
                for binding, home in analysis.dtype_values.bindings(said.expr, frame)
                if binding.kind == "value" and binding.expr is not None
            ]
            arms += [frame.arguments[said.expr.id]] if not arms and said.expr.id in frame.arguments else []
        case _:
            arms = []
            if analysis.dtype_values.of(said.expr, frame) == {Dtype.FLOAT16}:
                yield said
    for each in arms if steps else ():
        yield from _halves(each, analysis, steps - 1)


def _called(form: str, bound: Bound, analysis: Analysis) -> _Name:
    """What an expression is called where the object that it begins with comes from, filled into a form."""
    text, frame = ast.unparse(bound.expr), bound.frame
    root = _root(bound.expr)
    for _ in range(_MAX_STEPS):
        given = _handed_in(root, frame, analysis)
        if given is None:
            break
        text = ast.unparse(given.expr) + text.removeprefix(root)
        root, frame = _root(given.expr), given.frame
    return frame.function, form.format(text)


def _handed_in(name: str, frame: Frame, analysis: Analysis) -> Bound | None:
    """What a parameter is given: in the calling context at hand, or by the only call in sight."""
    if (given := frame.arguments.get(name)) is not None or frame.caller is not None:
        return given
    sites = [each for site, each in analysis.call_graph.given(name, frame.function) if not _is_tested(site.caller)]
    return sites[0] if len(sites) == 1 else None


def _is_tested(caller: Function) -> bool:
    return caller.module.file.is_test


def _root(expr: ast.expr) -> str:
    """The name that an expression begins with: `args` of `args.fp16` and of `args.precision == "fp16"`."""
    while not isinstance(expr, ast.Name):
        match expr:
            case ast.Attribute(value=inner) | ast.Compare(left=inner):
                expr = inner
            case _:
                return ""
    return expr.id

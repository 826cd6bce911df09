"""The dtype of what leaves training: exported and saved models that are cast, and state dicts cast before saving."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.conditions import ON_ONE_PATH, condition_at
from verifygate.static.contract.fact import Fact
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import last_name, simple_name
from verifygate.static.syntax.traversal import walk

EXPORTS = ("torch.onnx.export", "torch.export.export", "torch.jit.trace", "torch.jit.script")
_SAVES = frozenset({"save", "save_file", "save_pretrained", "push_to_hub"})
_OF_MODEL = frozenset({"save_pretrained", "push_to_hub"})
_CASTS = {"half": Dtype.FLOAT16, "bfloat16": Dtype.BFLOAT16, "float": Dtype.FLOAT32}
WORDS = (*(name.encode() for name in EXPORTS), b"save")


def export_facts(modules: Iterable[Module], analysis: Analysis) -> Iterator[Fact]:
    """What is exported and saved in a dtype that a cast gives it."""
    for module in modules:
        for function in module.all_functions if module.mentions(*WORDS) else ():
            for call in function.calls:
                yield from _of_call(call, function, analysis)


def _of_call(call: ast.Call, function: Function, analysis: Analysis) -> Iterator[Fact]:
    last = simple_name(call.func)
    name = ast.unparse(call.func) if last in ("export", "trace", "script") else ""
    if name in EXPORTS:
        yield from _of_model(call.args[0] if call.args else None, name, call, function, analysis)
    elif last in _OF_MODEL and isinstance(call.func, ast.Attribute):
        yield from _of_model(call.func.value, last, call, function, analysis)
    if last in _SAVES:
        for given in (*call.args, *(word.value for word in call.keywords if word.arg == "state_dict")):
            yield from _of_state(given, function, analysis)


def _of_model(
    model: ast.expr | None, what: str, call: ast.Call, function: Function, analysis: Analysis
) -> Iterator[Fact]:
    """The dtypes that casts give to a model, where it is exported."""
    frame = analysis.evaluator.root_frame(function)
    place = Location(function, call)
    for way in analysis.module_dtypes.of(model, frame) if model is not None else ():
        if way.cast.function is function and way.cast.line > place.line:
            continue  # a cast behind it
        condition = condition_at(way.cast, analysis) or condition_at(place, analysis)
        yield Fact(
            aspect=Aspect.EXPORT, value=str(way.dtype), path=place.path, line=place.line,
            note=f"`{what}` of a model cast at {way.cast.path}:{way.cast.line}",
            condition=condition or ("" if way.sure else ON_ONE_PATH),
        )  # fmt: skip


def _of_state(given: ast.expr, function: Function, analysis: Analysis) -> Iterator[Fact]:
    """The cast in `{name: part.half() for name, part in model.state_dict().items()}`, or of what is bound to it."""
    exprs, frame = [given], analysis.evaluator.root_frame(function)
    if isinstance(given, ast.Name):
        exprs = [each.expr for each in function.scope.names.get(given.id, ()) if each.expr is not None]
    for expr in exprs:
        if isinstance(expr, ast.Call) and last_name(expr.func) == "state_dict" and isinstance(expr.func, ast.Attribute):
            model = expr.func.value
            if isinstance(model, ast.Call) and analysis.module_dtypes.cast(model, frame):
                yield from _of_model(model, "state_dict", expr, function, analysis)
        if not isinstance(expr, ast.DictComp) or "state_dict" not in ast.unparse(expr.generators[0].iter):
            continue
        for cast in (each for each in walk(expr.value) if isinstance(each, ast.Call)):
            for dtype in _cast(cast, function, analysis):
                place = Location(function, cast)
                yield Fact(
                    aspect=Aspect.EXPORT, value=str(dtype), path=place.path, line=place.line,
                    note="the state dict is cast before it is saved", condition=condition_at(place, analysis),
                )  # fmt: skip


def _cast(call: ast.Call, function: Function, analysis: Analysis) -> frozenset[Dtype]:
    last = last_name(call.func)
    if last in _CASTS and not call.args:
        return frozenset({_CASTS[last]})
    if last != "to":
        return frozenset()
    frame = analysis.evaluator.root_frame(function)
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "dtype")]
    found = frozenset().union(*(analysis.dtype_values.of(each, frame) for each in given)) if given else frozenset()
    return frozenset(found & {Dtype.FLOAT16, Dtype.BFLOAT16, Dtype.FLOAT32})

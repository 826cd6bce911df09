"""TF32 switches of torch: which interface a statement writes, for which operators, and whether it turns TF32 on.

There are two legacy interfaces (`allow_tf32` flags, `set_float32_matmul_precision`) and, since torch 2.9, the
`fp32_precision` attributes. Measured on torch 2.13.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalName, Frame, Literal

MATMUL, CONV, RNN = "matmul", "conv", "rnn"
_CUDNN = frozenset({CONV, RNN})
_EVERY = frozenset({MATMUL, CONV, RNN})

FLAG, FUNCTION, ATTRIBUTE = "allow_tf32", "set_float32_matmul_precision", "fp32_precision"
"""The interfaces; the last is the new one."""

_WRITTEN = {
    "torch.backends.cuda.matmul.allow_tf32": (FLAG, frozenset({MATMUL})),
    "torch.backends.cudnn.allow_tf32": (FLAG, _CUDNN),
    "torch.backends.fp32_precision": (ATTRIBUTE, _EVERY),
    "torch.backends.cuda.matmul.fp32_precision": (ATTRIBUTE, frozenset({MATMUL})),
    "torch.backends.cudnn.fp32_precision": (ATTRIBUTE, _CUDNN),
    "torch.backends.cudnn.conv.fp32_precision": (ATTRIBUTE, frozenset({CONV})),
    "torch.backends.cudnn.rnn.fp32_precision": (ATTRIBUTE, frozenset({RNN})),
}
"""Qualified name of what is assigned -> its interface, and the operators that it decides about."""
_SETS = "torch.set_float32_matmul_precision"
_MEANS: dict[object, bool] = {True: True, False: False, "tf32": True, "ieee": False, "highest": False, "high": True}
_MEANS["medium"] = True
"""A value that is written -> whether TF32 is on then; in `medium` it is bfloat16 or TF32."""


@record
class Switch:
    """One statement that writes a switch, with a value that the source tells."""

    place: Location
    interface: str
    operators: frozenset[str]
    value: object
    on: bool


def switches(function: Function, analysis: Analysis) -> Iterator[Switch]:
    """The switches that a function writes, in source order; without those whose value is not told."""
    frame = analysis.evaluator.root_frame(function)
    found = [*_flags(function, frame, analysis), *_calls(function, frame, analysis)]
    return iter(sorted(found, key=lambda each: (each.place.line, each.place.column)))


def _flags(function: Function, frame: Frame, analysis: Analysis) -> Iterator[Switch]:
    for node in function.of_kind(ast.Assign):
        for target in node.targets:
            if not isinstance(target, ast.Attribute) or target.attr not in (FLAG, ATTRIBUTE):
                continue
            names = {
                f"{each.name}.{target.attr}"
                for each in analysis.evaluator.values(target.value, frame)
                if isinstance(each, ExternalName)
            }
            name = names.pop() if len(names) == 1 else ""
            if name in _WRITTEN:
                interface, operators = _WRITTEN[name]
                yield from _written(node, node.value, interface, operators, frame, analysis)


def _calls(function: Function, frame: Frame, analysis: Analysis) -> Iterator[Switch]:
    for call in function.calls:
        if last_name(call.func) == FUNCTION and analysis.roles.known_name(call.func, frame) == _SETS:
            for given in (*call.args[:1], *(word.value for word in call.keywords)):
                yield from _written(call, given, FUNCTION, frozenset({MATMUL}), frame, analysis)


def _written(
    node: ast.AST, given: ast.expr, interface: str, operators: frozenset[str], frame: Frame, analysis: Analysis
) -> Iterator[Switch]:
    match analysis.evaluator.values(given, frame):
        case (Literal(value=value),) if isinstance(value, bool | str) and value in _MEANS:
            yield Switch(Location(frame.function, node), interface, operators, value, _MEANS[value])

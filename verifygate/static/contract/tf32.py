"""TF32: where products of float32 tensors are computed in it, after all that a function switches on and off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.call_site import in_short
from verifygate.static.contract.conditions import condition_at
from verifygate.static.contract.fact import Fact
from verifygate.static.idioms.tf32_switches import ATTRIBUTE, Switch, switches
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

TF32 = "TF32 in float32 products"
_WORDS = (b"allow_tf32", b"fp32_precision", b"set_float32_matmul_precision")


def tf32_facts(analysis: Analysis) -> Iterator[Fact]:
    """The last switch for each kind of products in a function, if it is on; one under a condition undoes no other."""
    for module in analysis.modules:
        for function in module.all_functions if not module.file.is_test and module.mentions(*_WORDS) else ():
            last: dict[str, Switch] = {}
            found = list(switches(function, analysis))
            if (mixed := _mixed(found, function, analysis)) is not None:
                gap = "TF32 switches of torch's old and new interface are mixed"
                yield Fact(aspect=Aspect.COMPUTE, path=mixed.path, line=mixed.line, gap=gap)
                continue
            for each in found:
                if each.on or not analysis.enclosing.conditions(each.place.node, function):
                    last |= dict.fromkeys(each.operators, each)
            for place in dict.fromkeys(each.place for each in last.values() if each.on):
                text = in_short(place.node) if isinstance(place.node, ast.expr) else ast.unparse(place.node)
                yield Fact(
                    aspect=Aspect.COMPUTE, value=TF32, path=place.path, line=place.line, note=text,
                    condition=condition_at(place, analysis),
                )  # fmt: skip


def _mixed(found: list[Switch], function: Function, analysis: Analysis) -> Location | None:
    """Where a function that always writes switches of one interface writes one of the other: which holds is unknown."""
    always = [each for each in found if not analysis.enclosing.conditions(each.place.node, function)]
    is_new = [each.interface == ATTRIBUTE for each in always]
    return next((each.place for each, new in zip(always, is_new, strict=True) if new is not is_new[0]), None)

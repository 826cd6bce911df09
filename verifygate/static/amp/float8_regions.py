"""Recognise the regions in which Transformer Engine's modules compute in float8, and what recipe they are given."""

from __future__ import annotations

import ast

from verifygate.static.amp.constructor_arguments import argument
from verifygate.static.amp.roles import Region
from verifygate.static.values.domain import ExternalResult, Frame
from verifygate.static.values.evaluator import Evaluator

PACKAGE = "transformer_engine"
"""What a file names that opens such a region, or holds a module for it."""
_CONTEXTS = frozenset({"fp8_autocast", "autocast"})
_DELAYED = "DelayedScaling"


class Float8Regions:
    """Tells the region that an expression opens."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def opened_by(self, expr: ast.expr, frame: Frame) -> Region | None:
        """The region that entering `expr` opens, or None where it opens none."""
        if not frame.function.module.mentions(b"autocast", b"fp8", b"float8", b"transformer_engine"):
            return None
        values = self.evaluator.values(expr, frame)
        made = [each for each in values if isinstance(each, ExternalResult) and is_region(each)]
        if not made:
            return None
        first = made[0]
        enabled = argument(first, "enabled", 0)
        truth = self.evaluator.truth(enabled.expr, enabled.frame) if enabled else True
        if truth is False and len(made) == len(values):
            return Region(False, made=first)
        optional = len(made) < len(values) or len(made) > 1
        return Region(True, enabled if truth is None else None, first, optional=optional)

    def keeps_history(self, region: Region) -> bool | None:
        """Whether scales come of what earlier iterations measured; None where the recipe is not known."""
        if region.made is None:
            return None
        given = argument(region.made, "fp8_recipe", 2) or argument(region.made, "recipe", 2)
        if given is None:
            return None
        names = {
            each.name.rpartition(".")[2] if isinstance(each, ExternalResult) else ""
            for each in self.evaluator.values(given.expr, given.frame)
        }
        if "" in names:
            return None
        return _DELAYED in names if len(names) == 1 else None


def is_region(made: ExternalResult) -> bool:
    """Whether a call gives a context of Transformer Engine in which its modules compute in float8."""
    return made.name.startswith(f"{PACKAGE}.") and made.name.rpartition(".")[2] in _CONTEXTS


def is_surely_on(region: Region) -> bool:
    """Whether a region is entered and enabled whatever conditions come to."""
    return region.active and region.enabled is None and region.made is not None and not region.optional

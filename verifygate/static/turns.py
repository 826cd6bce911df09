"""Calls of an outside function that run in every turn of a loop that trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.analysis import Analysis
from verifygate.static.spots import Spot


def calls_each_turn(analysis: Analysis, known: str) -> Iterator[tuple[Spot, bool]]:
    """The calls, one per place, and whether each stands in the loop itself."""
    own: dict[Spot, bool] = {}
    for loop in analysis.hot.training:
        for spot in loop.turns:
            if isinstance(spot.node, ast.Call):
                frame = analysis.evaluator.root_frame(spot.function)
                if analysis.roles.known_name(spot.node.func, frame) == known:
                    own[spot] = loop.node in spot.loops
    for spot in analysis.hot.once_per_place(own):
        yield spot, own[spot]

"""Calls of outside functions in every iteration of a loop that trains, or that evaluates what its file trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.static.analysis import Analysis
from verifygate.static.facts.hot_loops import HotLoop
from verifygate.static.symbols.sites import ProgramPoint


def calls_each_turn(analysis: Analysis, known: str) -> Iterator[tuple[ProgramPoint, bool]]:
    """The calls, one per place, and whether each stands in a loop that trains, and not in what that calls."""
    own: dict[ProgramPoint, bool] = {}
    for loop in (*_evaluating(analysis), *analysis.hot_loops.training):
        for spot in loop.iteration_points:
            if isinstance(spot.node, ast.Call):
                frame = analysis.evaluator.root_frame(spot.function)
                if analysis.roles.known_name(spot.node.func, frame) == known:
                    own[spot] = loop.trains and loop.node in spot.loops
    for spot in analysis.hot_loops.once_per_place(own):
        yield spot, own[spot]


def _evaluating(analysis: Analysis) -> list[HotLoop]:
    """The loops over a loader that do not train, in files that do: an evaluation between two epochs.

    What only infers may have its reasons to give memory back, or to wait.
    """
    trains = {loop.function.module for loop in analysis.hot_loops.training}
    return [
        loop
        for loop in analysis.hot_loops.loops
        if not loop.trains and loop.over_loader and loop.function.module in trains
    ]

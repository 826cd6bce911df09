"""Clocks: where the time is read, and what is timed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verifygate.static.roles import last_name
from verifygate.static.spots import Spot
from verifygate.static.syntax import walk
from verifygate.static.values import Frame

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

CLOCKS = frozenset(
    {
        *("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.default_timer"),
        *("time.time_ns", "time.perf_counter_ns", "time.monotonic_ns"),
    }
)
_EVENT_WORDS = frozenset({"elapsed_time", "record", "Event"})


def reads_clock(node: ast.AST, frame: Frame, analysis: Analysis) -> bool:
    """Whether a node is a call that reads a clock."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    name = last_name(node.func)
    if not any(clock.endswith(name) for clock in CLOCKS):
        return False
    return analysis.roles.known_name(node.func, frame) in CLOCKS


def times_something(analysis: Analysis, spot: Spot) -> bool:
    """Whether a clock is read or CUDA events are recorded near a call: in its loop, or else in its function."""
    frame = analysis.evaluator.root_frame(spot.function)
    return any(
        isinstance(node, ast.Call)
        and (
            last_name(node.func) in _EVENT_WORDS or "time" in last_name(node.func) or reads_clock(node, frame, analysis)
        )
        for node in (walk(spot.loops[-1]) if spot.loops else spot.function.own_nodes)
    )

"""Clocks: where the time is read, and what is timed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.static.symbols.sites import ProgramPoint, counts
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Frame

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


def times_something(analysis: Analysis, spot: ProgramPoint) -> bool:
    """Whether a clock is read or CUDA events are recorded near a call: in its loop, or else in its function.

    Not every n-th iteration: what times many iterations waits once, at the end of them.
    """
    frame = analysis.evaluator.root_frame(spot.function)
    return any(
        isinstance(node, ast.Call)
        and (
            last_name(node.func) in _EVENT_WORDS or "time" in last_name(node.func) or reads_clock(node, frame, analysis)
        )
        for node in (_in_every_turn(analysis, spot) if spot.loops else spot.function.own_nodes)
    )


def _in_every_turn(analysis: Analysis, spot: ProgramPoint) -> Iterator[ast.AST]:
    for other in analysis.hot_loops.spots(spot.function):
        if spot.loops[-1] in other.loops and not any(counts(test.expr) for test in other.tests):
            yield other.node

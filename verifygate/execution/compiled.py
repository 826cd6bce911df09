"""Read what the instrument `compiled` told of a run, and say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from verifygate.base.counts import counted
from verifygate.model.compiled import CompiledGraph, CompiledReport, Difference


def compiled(told: Sequence[dict[str, Any]], shown: Callable[[str], str | None]) -> CompiledReport:
    """The report. `shown` gives the path below the root; None for a file outside."""
    ends = [each for each in told if each["event"] == "compiled"]
    graphs = [_graph(each, shown) for each in told if each["event"] == "compiled-graph"]
    made = max(sum(each["graphs"] for each in ends), len(graphs))
    why_not = "" if graphs else "nothing was compiled" if not made else "no graph that was compiled was called"
    if not ends and not graphs:
        why_not = "the run did not come to its end"
    return CompiledReport(graphs=made, compared=tuple(graphs), not_measured=why_not)


def lines(report: CompiledReport) -> list[str]:
    """One line for each graph."""
    if report.not_measured:
        return [f"compiled against eager: NOT MEASURED: {report.not_measured}"]
    found = [f"compiled against eager: graph {each.number}: {_said(each)}" for each in report.compared]
    more = report.graphs - len(report.compared)
    return [*found, f"compiled against eager: {counted(more, 'graph')} more, not compared"] if more else found


def _graph(told: dict[str, Any], shown: Callable[[str], str | None]) -> CompiledGraph:
    first = told["first"]
    return CompiledGraph(
        number=told["number"],
        results=told["results"],
        error=_finite(told["error"]),
        first=_difference(first, shown) if first is not None else None,
        why_not=told["why_not"],
    )


def _difference(told: dict[str, Any], shown: Callable[[str], str | None]) -> Difference:
    path, line = told["place"]
    inside = shown(path) if path else None
    return Difference(
        operator=told["operator"],
        path=inside or "",
        line=line if inside else 0,
        eager=told["eager"],
        compiled=told["compiled"],
        error=_finite(told["error"]),
        eps=told["eps"],
    )


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _said(graph: CompiledGraph) -> str:
    if graph.why_not:
        return f"NOT MEASURED: {graph.why_not}"
    first = graph.first
    if first is None:
        largest = f"; the largest error is {graph.error:.1e}" if graph.error else ""
        return f"{counted(graph.results, 'result')}, dtypes and values agree{largest}"
    where = f" at {first.path}:{first.line}" if first.path else ""
    what = f"{first.eager} becomes {first.compiled}" if first.eager != first.compiled else f"in {first.eager}"
    error = f"{first.error:.1e}" if first.error is not None else "not finite"
    head = f"the first of {counted(graph.results, 'result')} that differs is `{first.operator}`{where}"
    return f"{head}: {what}, error {error} (eps {first.eps:.1e})"

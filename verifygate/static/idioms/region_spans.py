"""One region around several steps: AMP104 reports it, with the backwards and the steps in it as further places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifygate.protocol import Violation
from verifygate.static.paths.diagnosis import ViolationReport
from verifygate.static.symbols.location import Location

if TYPE_CHECKING:
    from verifygate.static.analysis import Analysis

_ENTERED, _LEFT = "enter autocast", "leave autocast"


def is_part_of_a_span(report: ViolationReport, analysis: Analysis) -> bool:
    """Whether the region around a backward or a step is one that AMP104 reports for what happens in it."""
    region = _innermost(report)
    return region is not None and is_a_span(region, analysis)


def is_a_span(region: Location, analysis: Analysis) -> bool:
    """Whether AMP104 reports a region for the steps in it."""
    return any(_same(region, span.place) for span in analysis.violations(Violation.AUTOCAST_STALE_WEIGHTS))


def further_places(span: ViolationReport, analysis: Analysis) -> list[tuple[Location, str]]:
    """The backwards and the steps in a region that AMP104 reports."""
    labels = {
        Violation.BACKWARD_IN_AUTOCAST: "backward in this region",
        Violation.STEP_IN_AUTOCAST: "step in this region",
    }
    return [
        (report.place, label)
        for code, label in labels.items()
        for report in analysis.violations(code)
        if (region := _innermost(report)) is not None and _same(region, span.place)
    ]


def _innermost(report: ViolationReport) -> Location | None:
    """The region that is open at the end of the path."""
    regions: list[Location] = []
    for place, label in report.path:
        if label.startswith(_ENTERED):
            regions.append(place)
        elif label == _LEFT and regions:
            regions.pop()
    return regions[-1] if regions else None


def _same(one: Location, other: Location) -> bool:
    return (one.path, one.line, one.column) == (other.path, other.line, other.column)

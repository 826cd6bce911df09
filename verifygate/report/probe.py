"""A probe's report as one HTML page that needs nothing else."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from verifygate.model.probe_report import ProbeReport
from verifygate.report.heat_maps import heat_maps
from verifygate.report.html import as_page

if TYPE_CHECKING:
    from jinja2 import Template


def page(report: ProbeReport, text: str) -> str:
    """`text` is the same report as a terminal shows it."""
    maps = heat_maps(report.health) if report.health is not None else []
    return _template().render(report=report, text=text, maps=maps)


@cache
def _template() -> Template:
    return as_page().get_template("probe.html.j2")

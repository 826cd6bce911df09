"""One HTML page that needs nothing else: no script, no font, nothing fetched; its pictures stand in it as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from verifygate.model import IN_FULL, Report
from verifygate.report import escape, trend
from verifygate.report.conclusion import recommendations, sentences
from verifygate.report.pages.page import evidence_id
from verifygate.report.pictures import Pictures
from verifygate.report.templating import environment
from verifygate.report.view import View

if TYPE_CHECKING:
    from jinja2 import Environment


FILES = ("report.html",)
MOST_ROWS = 3_000
"""Findings after those in full that have a row each; a page of two megabytes opens on a telephone."""
SHORTENED = 120
"""Characters of a message in such a row."""


def render(report: Report, prefix: str = "../../") -> Mapping[str, str]:
    seen = View(report)
    page = {
        "view": seen,
        "report": report,
        "prefix": prefix,
        "pictures": {stage.stage: Pictures.of(stage) for stage in report.stages},
        "trend": trend.drawn(report.run.history),
        "trend_words": trend.words(report.run.history) if report.run.history else "",
        "sentences": sentences(seen),
        "recommended": recommendations(seen),
        "most": IN_FULL,
        "most_rows": MOST_ROWS,
    }
    return {FILES[0]: as_page().get_template("report.html.j2").render(page)}


@cache
def as_page() -> Environment:
    """The templates, with all text escaped for HTML."""
    return environment(
        _finalize,
        address=escape.link_target,
        evidence_id=evidence_id,
        block=_block,
        shortened=_shortened,
        prose=lambda text: _prose(str(text)),
    )


def _finalize(value: object) -> Markup:
    """Everything that no filter made is text, without what a browser would obey or hide."""
    return value if isinstance(value, Markup) else Markup(escape.html_text(str(value)))  # noqa: S704


def _shortened(text: str) -> str:
    text = escape.plain(text, escape.LONG)
    return text if len(text) <= SHORTENED else f"{text[:SHORTENED].rstrip()}…"


def _block(text: str) -> Markup:
    return Markup("<pre>{}</pre>").format(escape.lines(text))


def _prose(text: str) -> Markup:
    """Text in which what stands between backticks is code."""
    pieces = escape.spans(text)
    code, words = Markup("<code>{}</code>"), Markup("{}")
    return Markup("").join((code if quoted else words).format(piece) for piece, quoted in pieces)

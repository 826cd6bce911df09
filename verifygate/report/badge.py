"""A badge: the verdict and the score as a small SVG, for the front page of a project."""

from __future__ import annotations

from collections.abc import Mapping

from verifygate.model import Report, Verdict
from verifygate.report.quantities import points

FILES = ("badge.svg",)
_LABEL = "verifygate"
_GREEN, _RED, _GREY = "#1a7f37", "#cf222e", "#3d444d"
_WIDTH = 7
"""Pixels of a character at 11 pixels; `textLength` makes any font keep to it."""


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    score = "" if report.score is None else f" {points(report.score)}/100"
    told = f"{report.verdict.value}{score}"
    left, right = (_WIDTH * len(text) + 12 for text in (_LABEL, told))
    colour = _GREEN if report.verdict is Verdict.PASS else _RED
    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20"',
        f' role="img" aria-label="{_LABEL}: {told}">',
        f"<title>{_LABEL}: {told}</title>",
        f'<rect width="{left}" height="20" fill="{_GREY}"/>',
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>',
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">',
        f'<text x="6" y="14" textLength="{left - 12}">{_LABEL}</text>',
        f'<text x="{left + 6}" y="14" textLength="{right - 12}">{told}</text>',
        "</g></svg>",
    )
    return {FILES[0]: "\n".join(parts) + "\n"}

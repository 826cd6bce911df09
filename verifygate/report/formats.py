"""The formats of a whole report. A new one is a module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from verifygate.base.errors import UsageError
from verifygate.model import Report
from verifygate.report import gitlab, html, junit, markdown, matrix, sarif

Renderer = Callable[[Report, str], dict[str, str]]
"""The report and the prefix of links to the root -> file name and content."""

FORMATS: Mapping[str, tuple[tuple[str, ...], Renderer]] = MappingProxyType(
    {
        "md": ((*markdown.FILES, *markdown.SOMETIMES), markdown.render),
        "json": (("report.json",), lambda report, _prefix: {"report.json": report.to_json()}),
        "html": (("report.html",), lambda report, prefix: {"report.html": html.render(report, prefix)}),
        "sarif": (("report.sarif",), lambda report, _prefix: {"report.sarif": sarif.render(report)}),
        "junit": (("junit.xml",), lambda report, _prefix: {"junit.xml": junit.render(report)}),
        "gitlab": (("gitlab.json",), lambda report, _prefix: {"gitlab.json": gitlab.render(report)}),
        "csv": (("matrix.csv",), lambda report, _prefix: {"matrix.csv": matrix.render_csv(report)}),
        "matrix": (("matrix.json",), lambda report, _prefix: {"matrix.json": matrix.render(report)}),
    }
)
"""Format -> the files it makes, and what makes them."""

FILE_NAMES = frozenset(name for names, _ in FORMATS.values() for name in names)
"""Every file that any format makes."""


def render(report: Report, format: str, prefix: str = "../../") -> dict[str, str]:  # noqa: A002 - the option's name
    """The files of one format: name -> content. Raises UsageError for a format that there is not.

    `prefix` leads from the folder of the report to the project's root, for links: `../../` from `reports/latest`.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no report format `{format}`", remedy=f"the formats are {', '.join(FORMATS)}")
    return FORMATS[format][1](report, prefix)

"""The trace matrix as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from verifygate.model import Link, Report
from verifygate.model.matrix_document import MatrixRow
from verifygate.report.escape import plain
from verifygate.report.matrix import matrix

FILES = ("matrix.csv",)
COLUMNS = (
    "id",
    "title",
    "text",
    "group",
    "severity",
    "status",
    "suspect",
    "evidence",
    "code",
    "tests",
    "trace events",
    "measurements",
    "remedy",
)
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula; the last four are the wide forms of the first."""
CELL = 32_000
"""Characters of one cell: spreadsheets take a little more."""


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """A row for each requirement, every cell in quotes, lines ended as RFC 4180 asks."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([cell(text) for text in _cells(row)] for row in matrix(report).rows)
    return {FILES[0]: out.getvalue()}


def cell(text: str) -> str:
    """Text that a spreadsheet shows as it is: on one line, and never run as a formula.

    A quote in front of what looks like a formula is the spreadsheets' own mark for text. White space and control
    characters, behind which a formula could hide, are gone before.
    """
    text = plain(text, CELL)
    return f"'{text}" if text.startswith(FORMULA) else text


def _cells(row: MatrixRow) -> tuple[str, ...]:
    code = (_linked(link) for link in row.links if link.role == "code")
    plain_cells = (row.id, row.title, row.text, row.group, row.severity, row.status.value)
    lists = (row.suspect, row.evidence, code, row.tests, row.events, row.measurements)
    return (*plain_cells, *map(_joined, lists), row.remedy)


def _linked(link: Link) -> str:
    where = f" (line {link.line})" if link.line else ""
    return f"{link.symbol}{where} {link.state.value}"


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(texts)

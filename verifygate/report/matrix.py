"""The trace matrix for spreadsheets (CSV) and for other tools (JSON): what the report holds, and nothing else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from verifygate.model import EvidenceClass, Link, Report, RequirementResult
from verifygate.model.json_document import text_of
from verifygate.model.matrix import Matrix, MatrixRow
from verifygate.report.escape import plain
from verifygate.report.view import View

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


def render(report: Report) -> str:
    """matrix.json."""
    document = matrix(report).model_dump(mode="json")
    return text_of(document)


def render_csv(report: Report) -> str:
    """matrix.csv: a row for each requirement, every cell in quotes, lines ended as RFC 4180 asks."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([cell(text) for text in _cells(row)] for row in matrix(report).rows)
    return out.getvalue()


def matrix(report: Report) -> Matrix:
    """The matrix of a report; without rows where no requirement was traced."""
    view = View(report)
    details = view.requirements
    return Matrix(
        project=report.project,
        specification=details.spec,
        commit=report.provenance.commit,
        tree_digest=report.provenance.tree_digest,
        rows=tuple(_row(row, view) for row in details.requirements),
        coverage=details.coverage,
    )


def cell(text: str) -> str:
    """Text that a spreadsheet shows as it is: on one line, and never run as a formula.

    A quote in front of what looks like a formula is the spreadsheets' own mark for text. White space and control
    characters, behind which a formula could hide, are gone before.
    """
    text = plain(text, CELL)
    return f"'{text}" if text.startswith(FORMULA) else text


def _row(row: RequirementResult, view: View) -> MatrixRow:
    kinds = {evidence.kind for query in row.queries for evidence in query.evidence}
    return MatrixRow(
        id=row.id,
        title=row.title,
        text=row.text,
        group=row.group,
        severity=row.severity,
        status=row.status,
        suspect=row.suspect,
        evidence=tuple(kind.value for kind in EvidenceClass if kind in kinds),
        links=row.links,
        tests=row.tests,
        events=tuple(view.events(row)),
        measurements=row.measurements,
        remedy=row.remedy,
    )


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

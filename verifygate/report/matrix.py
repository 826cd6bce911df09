"""The trace matrix as JSON, for other tools: what the report holds, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from verifygate.model import EvidenceClass, Report, RequirementResult
from verifygate.model.json_document import text_of
from verifygate.model.matrix_document import Matrix, MatrixRow
from verifygate.report.view import View

FILES = ("matrix.json",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    return {FILES[0]: text_of(matrix(report).model_dump(mode="json"))}


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

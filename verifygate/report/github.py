"""Workflow commands that GitHub Actions turns into annotations of the lines."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.model import Certainty, Finding, Severity
from verifygate.model.check_report import CheckReport
from verifygate.report.escape import LONG, workflow_data, workflow_property
from verifygate.report.phrases import advice, check_counts


def render_check(report: CheckReport, asides: Sequence[str] = ()) -> str:
    """Workflow commands that GitHub Actions turns into annotations of the lines; then the counts."""
    rows = [_annotation(finding) for finding in sorted(report.findings, key=lambda f: f.order)]
    for file in report.not_analysed:
        place = f"file={workflow_property(file.path, LONG)},title=not analysed"
        rows.append(f"::error {place}::{workflow_data(file.reason)}")
    return "\n".join([*rows, check_counts(report, asides)]) + "\n"


def _annotation(finding: Finding) -> str:
    end = max(finding.line, finding.end_line)
    place = (
        f"file={workflow_property(finding.path, LONG)},line={finding.line},endLine={end},"
        f"col={max(finding.column, 1)},title={workflow_property(f'{finding.rule} {finding.name}')}"
    )
    return f"::{_command(finding)} {place}::{workflow_data(advice(finding))}"


def _command(finding: Finding) -> str:
    if finding.severity in (Severity.LOW, Severity.INFO):
        return "notice"
    harmful = finding.severity in (Severity.CRITICAL, Severity.HIGH)
    return "error" if harmful and finding.certainty is Certainty.CERTAIN else "warning"

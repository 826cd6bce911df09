"""Workflow commands that GitHub Actions turns into annotations of the lines, named from the root of the repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verifygate.base.counts import counted
from verifygate.model.check_report import CheckReport
from verifygate.model.finding import Certainty, Finding, Severity
from verifygate.report.escape import LONG, workflow_data, workflow_property
from verifygate.report.issues import Issue, of_check, of_report
from verifygate.report.phrases import advice, check_counts
from verifygate.sources.repository import path_in_repository

if TYPE_CHECKING:
    from verifygate.model import NotAnalysed, Report

FILES = ("annotations.txt",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """The findings of every stage, every other reason to block, and the verdict; a job prints the file.

    Of a change, what was there before and does not block is only counted: the lines are for whoever reviews the change.
    """
    from verifygate.report.view import View

    view = View(report)
    issues = of_report(view)
    shown = [issue for issue in issues if issue.blocks or issue.is_new is not False]
    rows = [_annotation(issue) for issue in shown]
    rows += [_unread(file, report.provenance.folder) for file in view.static.not_analysed]
    if old := len(issues) - len(shown):
        rows.append(f"verifygate: there before, and in the report: {counted(old, 'finding')}")
    return {FILES[0]: "\n".join([*rows, workflow_data(f"verifygate: {report.verdict}")]) + "\n"}


def render_check(report: CheckReport, asides: Sequence[str] = ()) -> str:
    """The findings; then the counts."""
    rows = [_annotation(issue) for issue in of_check(report)]
    rows += [_unread(file, report.folder) for file in report.not_analysed]
    return "\n".join([*rows, check_counts(report, asides)]) + "\n"


def _unread(file: NotAnalysed, folder: str) -> str:
    place = workflow_property(path_in_repository(file.path, folder), LONG)
    return f"::error file={place},title=not analysed::{workflow_data(file.reason)}"


def _annotation(issue: Issue) -> str:
    finding = issue.finding
    line = max(finding.line, 1)
    place = (
        f"file={workflow_property(finding.path, LONG)},line={line},endLine={max(line, finding.end_line)},"
        f"col={max(finding.column, 1)},title={workflow_property(issue.title)}"
    )
    return f"::{_command(finding)} {place}::{workflow_data(advice(finding))}"


def _command(finding: Finding) -> str:
    if finding.severity in (Severity.LOW, Severity.INFO):
        return "notice"
    harmful = finding.severity in (Severity.CRITICAL, Severity.HIGH)
    return "error" if harmful and finding.certainty is Certainty.CERTAIN else "warning"

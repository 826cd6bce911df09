"""Reviewdog's Diagnostic Format (rdjson): one object, with suggestions for the fixes that are proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifygate.base.records import replace
from verifygate.model import Certainty, Edit, Finding, Report, Severity
from verifygate.model.check_report import CheckReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain
from verifygate.report.issues import Issue, of_check, of_report
from verifygate.report.phrases import advice
from verifygate.report.rule_pages import rule_page
from verifygate.report.view import View

FILES = ("rdjson.json",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """The findings of every stage, and every other reason to block, for a reviewdog in the root of the repository."""
    return {FILES[0]: _result(of_report(View(report)))}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    """The findings, at paths as they are here: reviewdog, at the end of the pipe, puts its own folder before them."""
    return _result(of_check(replace(report, folder="")))


def _result(issues: Sequence[Issue]) -> str:
    return text_of({"source": {"name": "verifygate"}, "diagnostics": [_diagnostic(issue) for issue in issues]})


def _diagnostic(issue: Issue) -> dict[str, Any]:
    finding = issue.finding
    code: dict[str, str] = {"value": plain(finding.rule)}
    page = rule_page(finding.rule) if issue.of_rule else None
    if page and page.reference:
        code["url"] = page.reference
    diagnostic: dict[str, Any] = {
        "message": plain(f"{issue.title}: {advice(finding)}", LONG),
        "location": {"path": finding.path, "range": _range(finding)},
        "severity": _severity(finding),
        "code": code,
    }
    if len(finding.edits) == 1:  # each suggestion is applied alone, and one of two would be half a fix
        diagnostic["suggestions"] = [_suggestion(finding.edits[0])]
    return diagnostic


def _suggestion(edit: Edit) -> dict[str, Any]:
    """Whole lines, for no end has a column: without the line end of the last, which stays."""
    text = edit.text.removesuffix("\n").removesuffix("\r")
    return {"range": {"start": {"line": edit.line}, "end": {"line": edit.end_line}}, "text": text}


def _range(finding: Finding) -> dict[str, Any]:
    """The start alone: a column counts bytes there, so it is left out where characters and bytes may differ."""
    start = {"line": max(finding.line, 1)}
    if finding.snippet and finding.snippet.isascii():
        start["column"] = max(finding.column, 1)
    return {"start": start}


def _severity(finding: Finding) -> str:
    if finding.severity in (Severity.LOW, Severity.INFO):
        return "INFO"
    harmful = finding.severity in (Severity.CRITICAL, Severity.HIGH)
    return "ERROR" if harmful and finding.certainty is Certainty.CERTAIN else "WARNING"

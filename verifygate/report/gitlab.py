"""GitLab's Code Quality JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from verifygate.model import Finding, Report, Severity
from verifygate.model.check_report import CheckReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain
from verifygate.report.issues import Issue, of_check, of_report
from verifygate.report.phrases import elsewhere
from verifygate.report.view import View

_SEVERITIES = {
    Severity.CRITICAL: "blocker",
    Severity.HIGH: "critical",
    Severity.MEDIUM: "major",
    Severity.LOW: "minor",
    Severity.INFO: "info",
}


FILES = ("gitlab.json",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """The findings of every stage, and every other reason to block."""
    return {FILES[0]: _degradations(of_report(View(report)))}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    return _degradations(of_check(report))


def _degradations(issues: Iterable[Issue]) -> str:
    """One entry for a fingerprint: GitLab drops a second one."""
    once = {issue.finding.fingerprint: issue for issue in reversed(list(issues))}
    return text_of([_degradation(issue) for issue in reversed(once.values())])


def _degradation(issue: Issue) -> dict[str, object]:
    finding = issue.finding
    begin = max(finding.line, 1)
    return {
        "description": plain(f"{issue.title}: {finding.message}{_also(finding)}", LONG),
        "check_name": plain(finding.rule),
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": finding.path, "lines": {"begin": begin, "end": max(begin, finding.end_line)}},
    }


def _also(finding: Finding) -> str:
    return f"; also at {elsewhere(finding, 3)}" if finding.places else ""

"""GitLab's Code Quality JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from verifygate.model import Finding, Report, Severity
from verifygate.model.check_report import CheckReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain
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
    """The findings of every stage."""
    return {FILES[0]: _issues(View(report).findings)}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    return _issues(sorted(report.findings, key=lambda f: f.order))


def _issues(findings: Iterable[Finding]) -> str:
    issues = [
        {
            "description": plain(f"{finding.rule} {finding.name}: {finding.message}{_also(finding)}", LONG),
            "check_name": finding.rule,
            "fingerprint": finding.fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": finding.path,
                "lines": {"begin": max(finding.line, 1), "end": max(finding.line, finding.end_line, 1)},
            },
        }
        for finding in findings
    ]
    return text_of(issues)


def _also(finding: Finding) -> str:
    return f"; also at {elsewhere(finding, 3)}" if finding.places else ""

"""SARIF 2.1.0, for code scanning. Fingerprints hold no line number, so an alert survives edits around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from verifygate import __version__
from verifygate.model import Certainty, Finding, NotAnalysed, NotFollowed, Outcome, PathStep, Report, Severity
from verifygate.model.check_report import CheckReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain
from verifygate.report.phrases import advice
from verifygate.report.view import View

MAX_RESULTS = 5_000
"""GitHub takes no more than this from one run; the worst come first, and the true total is in the properties."""
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.CRITICAL: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning"}


FILES = ("report.sarif",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """The findings of every stage."""
    view = View(report)
    notes = [f"the {s.stage} stage could not run: {s.reason}" for s in report.stages if s.outcome is Outcome.ERRORED]
    notes += [f"contradiction, {each.name}: {each.text}" for each in report.contradictions if each.blocks]
    unread = view.static.not_analysed
    return {FILES[0]: _log(view.findings, unread, view.static.not_followed, notes, report.provenance.tool_version)}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    return _log(
        sorted(report.findings, key=lambda f: f.order), report.not_analysed, report.not_followed, [], __version__
    )


def _log(
    findings: Sequence[Finding],
    unread: Sequence[NotAnalysed],
    gaps: Sequence[NotFollowed],
    notes: Sequence[str],
    version: str,
) -> str:
    rules = sorted({(finding.rule, finding.name) for finding in findings})
    index = {code: number for number, (code, _) in enumerate(rules)}
    notifications = [_notification(text) for text in notes]
    notifications += [_notification(f"not analysed: {file.reason}", file.path) for file in unread]
    notifications += [_notification(f"not followed: {gap.reason}", gap.path, gap.line, level="note") for gap in gaps]
    run = {
        "tool": {
            "driver": {"name": "verifygate", "version": version, "rules": [_rule(code, name) for code, name in rules]}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notifications}],
        "results": [_result(finding, index[finding.rule]) for finding in findings[:MAX_RESULTS]],
        "properties": {"findings": len(findings)},
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return text_of(log)


def _rule(code: str, name: str) -> dict[str, Any]:
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": name.replace("-", " ")},
        "help": {"text": f"Run `verifygate explain {code}` for what it does, why it is bad and how to repair it."},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _level(finding),
        "message": _message(advice(finding)),
        "locations": [{"physicalLocation": _place(finding.path, finding.line, finding)}],
        "partialFingerprints": {"verifygate/v1": finding.fingerprint},
        "properties": {
            "severity": finding.severity.value,
            "certainty": finding.certainty.value,
            "witnesses": [witness.value for witness in finding.witnesses],
        },
    }
    if finding.fix is not None:
        result["properties"]["fix"] = finding.fix.value
    if finding.places:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _place(each.path, each.line), "message": _message(each.text)}
            for number, each in enumerate(finding.places, 1)
        ]
    if finding.steps:
        flow = {"locations": [{"location": _step(step)} for step in finding.steps]}
        result["codeFlows"] = [{"threadFlows": [flow]}]
    return result


def _level(finding: Finding) -> str:
    level = _LEVELS.get(finding.severity, "note")
    return "warning" if level == "error" and finding.certainty is Certainty.LIKELY else level


def _place(path: str, line: int, finding: Finding | None = None) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": max(line, 1)}
    if finding is not None:
        region |= {"startColumn": max(finding.column, 1), "endLine": max(finding.end_line, line, 1)}
    return {"artifactLocation": {"uri": quote(path, safe="/", errors="replace")}, "region": region}


def _step(step: PathStep) -> dict[str, Any]:
    return {"physicalLocation": _place(step.path, step.line), "message": _message(step.text)}


def _message(text: str) -> dict[str, str]:
    """A plain message; SARIF makes a link of `[words](address)`, and only the gate may make links."""
    return {"text": plain(text, LONG).replace("](", "] (")}


def _notification(text: str, path: str | None = None, line: int = 1, level: str = "error") -> dict[str, Any]:
    notification: dict[str, Any] = {"level": level, "message": _message(text)}
    if path is not None:
        notification["locations"] = [{"physicalLocation": _place(path, line)}]
    return notification

"""SARIF 2.1.0, for code scanning. Fingerprints hold no line number, so an alert survives edits around it.

What is suppressed in the source is told in notifications: code scanning would open an alert for each suppressed result.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from verifygate import __version__
from verifygate.model import (
    Certainty,
    Edit,
    Finding,
    LeftOut,
    NotAnalysed,
    NotFollowed,
    Outcome,
    PathStep,
    Report,
    Severity,
    Suppression,
)
from verifygate.model.check_report import CheckReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain
from verifygate.report.issues import Issue, of_check, of_report
from verifygate.report.phrases import advice, left_out_words
from verifygate.report.sarif_rules import rule_of
from verifygate.report.view import View
from verifygate.sources.repository import path_in_repository

MAX_RESULTS = 25_000
"""GitHub refuses a run with more; of these it stores the 5,000 worst."""
MAX_COMPRESSED = 6_000_000
"""Bytes of all results under gzip, before they are indented: GitHub takes 10 MB, and spaces cost up to a third."""
MAX_PLACES = 100
"""Further locations of one result that GitHub shows."""
MAX_STEPS = 10_000
"""Locations of one path that GitHub takes."""
MAX_NOTIFICATIONS = 1_000
"""Of one kind: they are read by people."""
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.CRITICAL: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning"}


FILES = ("report.sarif",)


class _Log(NamedTuple):
    """What a log is made of."""

    issues: Sequence[Issue]
    notifications: list[dict[str, Any]]
    version: str
    category: str
    successful: bool
    permalink: str = ""
    commit: str = ""


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """The findings of every stage, and every other reason to block."""
    view, folder = View(report), report.provenance.folder
    errored = [f"the {s.stage} stage could not run: {s.reason}" for s in report.stages if s.outcome is Outcome.ERRORED]
    notes = [_notification(text) for text in errored]
    notes += [_notification(f"contradiction, {each.name}: {each.text}") for each in report.contradictions]
    notes += _gaps(view.static.not_analysed, view.static.not_followed, folder)
    notes += _left_out(view.static.left_out)
    notes += _suppressed(view.static.suppressions, folder)
    version = report.provenance.tool_version
    log = _Log(of_report(view), notes, version, "run", not errored, report.run.permalink, report.provenance.commit)
    return {FILES[0]: _text(log, folder)}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    notes = [*_gaps(report.not_analysed, report.not_followed, report.folder), *_left_out(report.left_out)]
    return _text(_Log(of_check(report), notes, __version__, "check", successful=True), report.folder)


def _text(log: _Log, folder: str) -> str:
    codes = sorted({issue.finding.rule for issue in log.issues})
    index = {code: number for number, code in enumerate(codes)}
    results = list(_within_limits(_result(issue, index[issue.finding.rule]) for issue in log.issues))
    notifications = list(log.notifications)
    if (cut := len(log.issues) - len(results)) > 0:
        told = f"{cut:,} of {len(log.issues):,} results left out, the least severe: code scanning takes no more"
        notifications.insert(0, _notification(told, level="warning"))
    run: dict[str, Any] = {
        "tool": {"driver": _driver(log, codes)},
        "automationDetails": {"id": "/".join(filter(None, ("verifygate", log.category, quote(folder)))) + "/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": log.successful, "toolExecutionNotifications": notifications}],
        "results": results,
        "properties": {"findings": sum(issue.of_rule for issue in log.issues), "results": len(log.issues)},
    }
    if address := _repository(log.permalink):
        provenance = {"repositoryUri": address, "revisionId": log.commit, "mappedTo": {"uriBaseId": _ROOT}}
        run["versionControlProvenance"] = [provenance]
    return text_of({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _left_out(left: Sequence[LeftOut]) -> list[dict[str, Any]]:
    return [_notification(left_out_words(left), level="note")] if left else []


def _driver(log: _Log, codes: Sequence[str]) -> dict[str, Any]:
    of_code: dict[str, list[Issue]] = {}
    for issue in log.issues:
        of_code.setdefault(issue.finding.rule, []).append(issue)
    return {
        "name": "verifygate",
        "version": log.version,
        "semanticVersion": log.version,
        "rules": [rule_of(code, of_code[code]) for code in codes],
    }


def _repository(permalink: str) -> str:
    """The address of the repository, out of the address of a folder at a commit."""
    return permalink.partition("/-/blob/")[0].partition("/blob/")[0]


def _within_limits(results: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The first results, which are the worst, as many as code scanning takes."""
    pressed, size = zlib.compressobj(), 0
    for number, result in enumerate(results):
        size += len(pressed.compress(json.dumps(result).encode()))
        if number == MAX_RESULTS or size > MAX_COMPRESSED:
            return
        yield result


def _result(issue: Issue, index: int) -> dict[str, Any]:
    finding = issue.finding
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
            "blocks": issue.blocks,
        },
    }
    if issue.is_new is not None:
        result["baselineState"] = "new" if issue.is_new else "unchanged"
    if finding.fix is not None:
        result["properties"]["fix"] = finding.fix.value
    if finding.edits:
        result["fixes"] = [_fix(finding)]
    if finding.places:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _place(each.path, each.line), "message": _message(each.text or "also")}
            for number, each in enumerate(finding.places[:MAX_PLACES], 1)
        ]
        result["properties"]["places"] = len(finding.places)
    if finding.steps:
        flow = {"locations": [{"location": _step(step)} for step in _shortened(finding.steps)]}
        result["codeFlows"] = [{"threadFlows": [flow]}]
    return result


def _shortened(steps: Sequence[PathStep]) -> Sequence[PathStep]:
    """The beginning and the end of a path that is too long."""
    half = MAX_STEPS // 2
    return steps if len(steps) <= MAX_STEPS else (*steps[:half], *steps[-half:])


def _fix(finding: Finding) -> dict[str, Any]:
    changes: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        changes.setdefault(edit.path, []).append(edit)
    return {
        "description": _message(finding.remedy or f"what `verifygate fix` writes for {finding.rule}"),
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": [_replacement(edit) for edit in edits]}
            for path, edits in changes.items()
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    """Whole lines: from the start of the first to the start of the one behind the last."""
    region = {"startLine": edit.line, "startColumn": 1, "endLine": edit.end_line + 1, "endColumn": 1}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _level(finding: Finding) -> str:
    level = _LEVELS.get(finding.severity, "note")
    return "warning" if level == "error" and finding.certainty is Certainty.LIKELY else level


def _place(path: str, line: int, finding: Finding | None = None) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": max(line, 1)}
    if finding is not None:
        region |= {"startColumn": max(finding.column, 1), "endLine": max(finding.end_line, line, 1)}
    return {"artifactLocation": _artifact(path), "region": region}


def _artifact(path: str) -> dict[str, str]:
    """Relative to the root of the repository; an absolute path is one of this machine."""
    address = quote(path, safe="/", errors="replace")
    return {"uri": f"file://{address}"} if path.startswith("/") else {"uri": address, "uriBaseId": _ROOT}


def _step(step: PathStep) -> dict[str, Any]:
    return {"physicalLocation": _place(step.path, step.line), "message": _message(step.text)}


def _message(text: str) -> dict[str, str]:
    """A plain message; SARIF makes a link of `[words](address)`, and only the gate may make links."""
    return {"text": plain(text, LONG).replace("](", "] (") or "-"}


def _gaps(unread: Sequence[NotAnalysed], gaps: Sequence[NotFollowed], folder: str) -> list[dict[str, Any]]:
    """What was not looked at: that nothing was found there says nothing."""
    told = [
        _notification(f"not analysed: {file.reason}", path_in_repository(file.path, folder))
        for file in unread[:MAX_NOTIFICATIONS]
    ]
    told += [
        _notification(f"not followed: {gap.reason}", path_in_repository(gap.path, folder), gap.line, level="note")
        for gap in gaps[:MAX_NOTIFICATIONS]
    ]
    for kind, number in (("not analysed", len(unread)), ("not followed", len(gaps))):
        if (more := number - MAX_NOTIFICATIONS) > 0:
            told.append(_notification(f"{kind}: and {more:,} more, in report.json", level="warning"))
    return told


def _suppressed(comments: Sequence[Suppression], folder: str) -> list[dict[str, Any]]:
    return [
        _notification(
            f"suppressed: {each.rule} {each.finding}; reason: {each.reason or 'none given'}",
            path_in_repository(each.path, folder),
            each.line,
            level="note",
        )
        for each in comments[:MAX_NOTIFICATIONS]
        if each.finding
    ]


def _notification(text: str, path: str | None = None, line: int = 1, level: str = "error") -> dict[str, Any]:
    notification: dict[str, Any] = {"level": level, "message": _message(text)}
    if path is not None:
        notification["locations"] = [{"physicalLocation": _place(path, line)}]
    return notification

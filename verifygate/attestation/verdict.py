"""The verdict of a report as in-toto statements: a pure function of the report, its digest and the policy's files.

The subjects are the audited commit and the report file. Consumers match subjects by digest alone, so a commit is one
only where the audited files are exactly its files. A BLOCK is never stated as PASSED, and has no verified property.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable
from typing import Any

from verifygate.attestation.envelope import STATEMENT_TYPE
from verifygate.attestation.policy_files import PolicyFile, commit_of
from verifygate.attestation.predicates import (
    ALL_STAGES,
    BASE,
    EXTENSION,
    NO_WAIVER,
    PASS_PROPERTY,
    POLICY,
    POLICY_OF_BASE,
    SETTINGS,
    STAGE_PREFIX,
    PredicateType,
    Result,
)
from verifygate.model import Outcome, PolicyState, Reason, Report, Status, Verdict, WaiverState
from verifygate.stage_registry import STAGES

_BASE_OF_CHANGES = re.compile(r"the source at ([0-9a-f]{40}|[0-9a-f]{64})")


def statement(
    kind: PredicateType, report: Report, sha256: str, files: Iterable[PolicyFile] = (), url: str = ""
) -> dict[str, Any]:
    """What a report says, as a statement of one predicate type. `sha256` is that of the report file, byte for byte.

    `files` are those of the policy, with the digests that they had; `url` leads to the run.
    """
    predicate = _test_result(report, files, url) if kind is PredicateType.TEST_RESULT else _svr(report)
    return {
        "_type": STATEMENT_TYPE,
        "subject": _subjects(report, sha256),
        "predicateType": kind.uri,
        "predicate": {**predicate, EXTENSION: _extension(report)},
    }


def written(document: dict[str, Any]) -> bytes:
    """A statement as it is signed: the same bytes for the same statement, on one line."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def result_of(report: Report) -> Result:
    """PASSED for a PASS of a commit; WARNED for another PASS, and for a BLOCK that advisory mode lets through."""
    if report.verdict is not Verdict.PASS:
        return Result.WARNED if report.advisory is not None and report.advisory.in_force else Result.FAILED
    return Result.PASSED if commit_of(report) else Result.WARNED


def base_of(report: Report) -> str:
    """The commit that the change under review began at; empty where the run was not about a change."""
    compared = _BASE_OF_CHANGES.fullmatch(report.changes.against) if report.changes else None
    if compared:
        return compared[1]
    origin = report.policy_origin
    return origin.commit if origin and not origin.asked.startswith("--policy-from") else ""


def _subjects(report: Report, sha256: str) -> list[dict[str, Any]]:
    subjects: list[dict[str, Any]] = [{"name": "report.json", "digest": {"sha256": sha256}}]
    if commit := commit_of(report):
        folder = report.provenance.folder
        of_folder = {"annotations": {"folder": folder}} if folder else {}
        subjects.insert(0, {"name": report.project, "digest": {"gitCommit": commit}, **of_folder})
    return subjects


def _test_result(report: Report, files: Iterable[PolicyFile], url: str) -> dict[str, Any]:
    failed = sorted({_failed_test(reason, report) for reason in report.reasons})
    checks = {check.id: check.status for stage in report.stages for check in stage.checks if check.id not in failed}
    return {
        "result": result_of(report).value,
        "configuration": _configuration(report, files),
        **({"url": url} if url else {}),
        "passedTests": sorted(name for name, status in checks.items() if status is Status.PASS),
        "warnedTests": sorted(
            name for name, status in checks.items() if status not in (Status.PASS, Status.NOT_APPLICABLE)
        ),
        "failedTests": failed,
    }


def _failed_test(reason: Reason, report: Report) -> str:
    """The name of what blocks: the check; for a finding that of its rule; else the condition, `gate.nothing-ran`."""
    if reason.check:
        return reason.check
    findings = (finding for stage in report.stages for finding in stage.findings)
    rule = next((each.rule for each in findings if reason.finding and reason.finding in each.fingerprints), "")
    return f"{reason.stage}.{rule or reason.condition}"


def _configuration(report: Report, files: Iterable[PolicyFile]) -> list[dict[str, Any]]:
    """What decided over the verdict, as resource descriptors: files, the settings in force, and the revisions."""
    found: list[dict[str, Any]] = [
        {"name": each.name, "digest": {"sha256": each.sha256}, "annotations": {"commit": each.commit}} for each in files
    ]
    found.append({"name": SETTINGS, "digest": {"sha256": report.provenance.settings_digest}})
    if base := base_of(report):
        found.append({"name": BASE, "digest": {"gitCommit": base}})
    if origin := report.policy_origin:
        said = {"asked": origin.asked, "state": origin.state.value, "differences": len(origin.differences)}
        found.append({"name": POLICY, "digest": {"gitCommit": origin.commit}, "annotations": said})
    return found


def _svr(report: Report) -> dict[str, Any]:
    version = report.provenance.tool_version
    return {
        "verifier": {
            "id": f"urn:verifygate:gate:{version}",
            "version": {"verifygate": version},
            "policy": {"name": SETTINGS, "digest": {"sha256": report.provenance.settings_digest}},
        },
        "timeCreated": _moment(report.run.started),
        "properties": list(_properties(report)) if result_of(report) is Result.PASSED else [],
    }


def _properties(report: Report) -> Iterable[str]:
    """What was verified, of a report that says PASS about a commit."""
    yield PASS_PROPERTY
    passed = {
        each.stage for each in report.stages if each.outcome is Outcome.COMPLETED and each.verdict is Verdict.PASS
    }
    yield from (STAGE_PREFIX + name.upper() for name in STAGES if name in passed)
    if {each.stage for each in report.stages} >= STAGES.keys():
        yield ALL_STAGES
    if not any(use.state is WaiverState.IN_FORCE for use in report.waivers):
        yield NO_WAIVER
    origin, base = report.policy_origin, base_of(report)
    if origin and origin.state is PolicyState.BASE and origin.commit == base != commit_of(report):
        yield POLICY_OF_BASE


def _extension(report: Report) -> dict[str, Any]:
    """What neither predicate has a field for; to ignore it makes nothing look better than it is."""
    advisory = report.advisory
    return {
        "verdict": report.verdict.value,
        "version": report.provenance.tool_version,
        "commit": report.provenance.commit,
        "source": _source(report),
        "tree": {"sha256": report.provenance.tree_digest},
        "stages": {each.stage: each.verdict.value if each.verdict else each.outcome.value for each in report.stages},
        "waivers": sorted(
            check for use in report.waivers if use.state is WaiverState.IN_FORCE for check in use.waiver.checks
        ),
        **({"advisoryUntil": advisory.until.isoformat()} if advisory and advisory.in_force else {}),
    }


def _source(report: Report) -> str:
    """What the audited files are, in words."""
    if commit_of(report):
        return "the files of the commit"
    return "files of no commit: the tree had changes" if "+" in report.provenance.commit else "files of no repository"


def _moment(isoformat: str) -> str:
    """A time as in-toto writes it: RFC 3339, in UTC."""
    return dt.datetime.fromisoformat(isoformat).astimezone(dt.UTC).isoformat().replace("+00:00", "Z")

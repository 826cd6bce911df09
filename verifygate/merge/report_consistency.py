"""Consistency of a finished report: whether its verdict, scores and parts follow from its checks.

The gate checks this of every report before it is written, and of every report.json that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from verifygate import report_comparison
from verifygate.base.errors import UsageError
from verifygate.merge.inputs import Results
from verifygate.merge.recompute import contradicted, unsupported
from verifygate.model import (
    Certainty,
    Check,
    Outcome,
    Report,
    ScorePart,
    StageResult,
    Status,
    Verdict,
    WaiverState,
)

FULL = Decimal("100.00")


def handed_in(path: Path, shown: str = "") -> Report:
    """A report.json that still says what its run said. Raises UsageError, calling it `shown`, where it does not."""
    shown = shown or str(path)
    text = report_comparison.text_at(path, shown)
    report = report_comparison.parse(text, shown)
    for fault in faults(report):
        raise UsageError(
            f"the report contradicts itself: {fault}",
            where=shown,
            remedy="give a report.json as `verifygate run` of this version wrote it",
        )
    report_comparison.refuse_edited(text, shown)
    return report


def faults(report: Report) -> Iterator[str]:
    """Everything in a report that does not follow from the rest of it, each in one line; nothing where all does."""
    yield from _verdict(report)
    yield from _score("the report", report.parts, report.score or Decimal(0), report.stages)
    for stage in report.stages:
        if stage.score is not None or stage.parts:
            yield from _score(f"the {stage.stage} stage", stage.parts, stage.score or Decimal(0), (stage,))
    yield from _blocking_checks(report)
    yield from _matrix(report)
    yield from _figures(report)
    yield from _fingerprints(report)


def _verdict(report: Report) -> Iterator[str]:
    if (report.verdict is Verdict.PASS) != (not report.reasons):
        number = len(report.reasons)
        yield f"the verdict is {report.verdict}, and there are {number} reasons to block"
    looked = any(
        check.status is not Status.NOT_APPLICABLE
        for stage in report.stages
        if stage.outcome is Outcome.COMPLETED
        for check in stage.checks
    )
    if report.verdict is Verdict.PASS and not looked:
        yield "the verdict is PASS, and no stage completed with a check that applies"
    if report.verdict is Verdict.PASS and any(stage.outcome is Outcome.ERRORED for stage in report.stages):
        yield "the verdict is PASS, and a stage could not run"
    if report.verdict is Verdict.PASS and any(each.blocks for each in report.contradictions):
        yield "the verdict is PASS, and a contradiction blocks"
    for stage in report.stages:
        own = any(reason.stage == stage.stage for reason in report.reasons)
        if own and stage.verdict is not Verdict.BLOCK:
            yield f"the {stage.stage} stage has a reason to block, and its verdict is {stage.verdict or 'none'}"
        if stage.verdict is Verdict.BLOCK and not own:
            yield f"the {stage.stage} stage blocks, and no reason says why"


def _score(what: str, parts: Sequence[ScorePart], score: Decimal, stages: Sequence[StageResult]) -> Iterator[str]:
    """Whether the parts add up to the score, to 100, and to what the checks' statuses earn."""
    earned = sum((part.earned for part in parts), Decimal(0))
    possible = sum((part.possible for part in parts), Decimal(0))
    if earned != score:
        yield f"the parts of {what} add up to {earned:.2f}, and its score is {score:.2f}"
    if parts and possible != FULL:
        yield f"the parts of {what} are out of {possible:.2f}, and not out of {FULL}"
    checks = {check.id: check for stage in stages for check in stage.checks}
    for part in parts:
        errored = part.check == f"{part.stage}.completed"
        check = checks.get(part.check)
        if check is None and not errored:
            yield f"{what} has points for `{part.check}`, and there is no such check"
        elif part.earned != (Decimal(0) if check is None else _due(check.status, part.possible)):
            status = check.status if check else "an error"
            yield f"`{part.check}` is {status}, and earned {part.earned:.2f} of {part.possible:.2f}"


def _due(status: Status, possible: Decimal) -> Decimal:
    """All for PASS; half for PARTIAL, in whole hundredths."""
    if status is Status.PASS:
        return possible
    return Decimal(int(possible * 100) // 2).scaleb(-2) if status is Status.PARTIAL else Decimal(0)


def _blocking_checks(report: Report) -> Iterator[str]:
    """A required check that did not pass, or a finding that blocks, of which neither a reason nor a waiver speaks."""
    waived = {name for use in report.waivers if use.state is WaiverState.IN_FORCE for name in use.waiver.checks}
    told = {reason.check for reason in report.reasons}
    places = {(reason.path, reason.line) for reason in report.reasons if reason.condition == "finding"}
    held = frozenset(report.baseline.held) if report.baseline else frozenset()
    grave = next((each.value for each in report.policy if each.key == "verdict.block"), "").split(", ")
    for use in report.waivers:
        if any("*" in name for name in use.waiver.checks):
            yield f"a waiver names its checks one by one, and this one says `{', '.join(use.waiver.checks)}`"
    for stage in report.stages:
        certain = [finding for finding in stage.findings if finding.certainty is Certainty.CERTAIN]
        by_finding = {f"{stage.stage}.{finding.rule}" for finding in certain}
        for finding in certain if report.changes is None else ():
            if finding.severity in grave and (finding.path, finding.line) not in places and not finding.stood_in(held):
                yield f"{finding.rule} at {finding.path}:{finding.line} blocks by the policy, and is no reason here"
        for check in stage.checks:
            if check.inherited and report.changes is None:
                yield f"`{check.id}` is said to have been so before the change, and no change was looked at"
            if _is_open(check) and check.id not in told:
                if check.status is Status.FAIL and check.id not in by_finding:
                    yield f"`{check.id}` is required and FAIL, and no reason to block names it"
                elif check.status is not Status.FAIL and check.id not in waived:
                    yield f"`{check.id}` is required and {check.status}, and neither a reason nor a waiver names it"


def _is_open(check: Check) -> bool:
    return check.required and not check.inherited and check.status not in (Status.PASS, Status.NOT_APPLICABLE)


def _matrix(report: Report) -> Iterator[str]:
    """A requirement that is PASS in the matrix and not in its check, or the other way round."""
    results = Results(report.stages)
    for row in results.rows:
        check = results.checks.get(f"requirements.{row.id}")
        if check is not None and (row.status is Status.PASS) != (check.status is Status.PASS):
            yield f"{row.id} is {row.status} in the matrix, and its check is {check.status}"


def _figures(report: Report) -> Iterator[str]:
    """Measurements that their samples contradict or do not carry, but for those that the report itself says so of."""
    said = " ".join(each.text for each in report.contradictions)
    results = Results(report.stages)
    taken = tuple(results.measurements.values())
    for item in taken:
        if (problem := contradicted(item, taken) or unsupported(item)) and item.id not in said:
            yield f"{item.id} is {item.status}, and {problem}"


def _fingerprints(report: Report) -> Iterator[str]:
    """Findings are told apart by fingerprint: what is new and what is fixed rests on it."""
    seen: dict[str, tuple[str, str]] = {}
    for stage in report.stages:
        for finding in stage.findings:
            what = (finding.rule, finding.path)
            if seen.setdefault(finding.fingerprint, what) != what:
                rule, path = seen[finding.fingerprint]
                yield f"{finding.rule} in {finding.path} has the fingerprint of {rule} in {path}"

"""Merge the findings of all witnesses: one finding per violation, with who saw it, and why no test caught it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from verifygate.base.counts import counted
from verifygate.model import (
    Certainty,
    Evidence,
    ExecutionDetails,
    Finding,
    FunctionCoverage,
    StageResult,
    StaticDetails,
    Status,
    Suppression,
    TestOutcome,
    TraceSummary,
    Witness,
)
from verifygate.protocol import SCALER_ERRORS, TRANSITIONS

_FAULTS = frozenset(row.fault for row in TRANSITIONS if row.fault)
DONE_BY: dict[str, frozenset[str]] = {
    fault.violation: frozenset(other.event.value for other in _FAULTS if other.violation is fault.violation)
    for fault in _FAULTS
}
"""Rule -> the events that break it: what the statement of a finding does when it runs."""


def merged(stages: Sequence[StageResult]) -> tuple[StageResult, ...]:
    """The stages, with every finding completed from what the other stages know."""
    stages = _witnessed(stages)
    details = [stage.details for stage in stages if isinstance(stage.details, ExecutionDetails)]
    if not details:
        return tuple(stages)
    ends = [
        each
        for stage in stages
        for check in stage.checks
        if check.id.startswith("execution.oracle-") and check.status is Status.FAIL
        for each in check.evidence
    ]

    def completed(finding: Finding) -> Finding:
        return _with_entries(_with_tests(finding, details[0]), ends)

    return tuple(stage.model_copy(update={"findings": tuple(map(completed, stage.findings))}) for stage in stages)


def _witnessed(stages: Sequence[StageResult]) -> tuple[StageResult, ...]:
    """A violation that the source and a run both show is one finding, of the stage that read the source."""
    seen = [each for stage in stages for each in stage.findings if each.witnesses == (Witness.RUN,)]
    traces = [stage.details.trace for stage in stages if isinstance(stage.details, ExecutionDetails)]
    trace = next((trace for trace in traces if trace is not None), None)
    silenced = [
        each for stage in stages if isinstance(stage.details, StaticDetails) for each in stage.details.suppressions
    ]
    joined: list[Finding] = []

    def completed(finding: Finding) -> Finding:
        same = next((each for each in seen if _is_same(finding, each)), None)
        if same is None:
            return _passed_by(finding, trace)
        joined.append(same)
        return _joined(finding, same)

    told = [
        stage.model_copy(
            update={
                "findings": tuple(
                    finding if finding.witnesses == (Witness.RUN,) else completed(finding) for finding in stage.findings
                )
            }
        )
        for stage in stages
    ]
    alone = [each for each in seen if each not in joined and not any(_silences(one, each) for one in silenced)]
    idle = [
        each for stage in stages if isinstance(stage.details, StaticDetails) for each in stage.details.idle_suppressions
    ]
    left = [each for each in alone if not any(_is_about(one, each) for one in idle)]
    return tuple(
        _with_idle(stage, alone).model_copy(
            update={
                "findings": tuple(each for each in stage.findings if each.witnesses != (Witness.RUN,) or each in left)
            }
        )
        for stage in told
    )


def _with_idle(stage: StageResult, seen: Sequence[Finding]) -> StageResult:
    """The stage, with each comment that silences nothing in the source beside what it silences of a run, if it does."""
    details = stage.details
    if not isinstance(details, StaticDetails) or not details.idle_suppressions:
        return stage
    used, idle = list(details.suppressions), []
    for one in details.idle_suppressions:
        silenced = [each for each in seen if _is_about(one, each)]
        for each in silenced:
            certain = each.certainty is Certainty.CERTAIN
            used.append(
                replace(
                    one,
                    finding=f"{each.path}:{each.line} {each.message} ({each.run})",
                    severity=each.severity if certain else "",
                    fingerprint=each.fingerprint if certain else "",
                )
            )
        idle += [] if silenced else [one]
    update = {"suppressions": tuple(used), "idle_suppressions": tuple(idle)}
    return stage.model_copy(update={"details": details.model_copy(update=update)})


def _is_about(suppression: Suppression, seen: Finding) -> bool:
    """Whether a comment that silences nothing in the source names what a run shows on its line."""
    asked = (suppression.rule, suppression.path, suppression.covers)
    return asked == (seen.rule, seen.path, seen.line)


def _is_same(finding: Finding, seen: Finding) -> bool:
    return finding.rule == seen.rule and finding.is_at(seen.path, seen.line)


def _joined(finding: Finding, seen: Finding) -> Finding:
    """The finding of the source, with the run beside it. What a run showed is certain."""
    proved = seen.certainty is Certainty.CERTAIN and finding.certainty is Certainty.LIKELY
    return replace(
        finding,
        witnesses=tuple(dict.fromkeys((*finding.witnesses, *seen.witnesses))),
        details=(*finding.details, *seen.details),
        certainty=Certainty.CERTAIN if proved else finding.certainty,
        run=f"likely by the source alone, and {seen.run}" if proved else seen.run,
    )


def _passed_by(finding: Finding, trace: TraceSummary | None) -> Finding:
    """Says so where a run went through the statement of a likely finding, in a known state, without the violation."""
    if trace is None or finding.certainty is not Certainty.LIKELY or finding.rule not in DONE_BY:
        return finding
    times = sum(
        visit.times
        for visit in trace.visits
        if finding.is_at(visit.path, visit.line) and visit.event in DONE_BY[finding.rule]
    )
    if not times:
        return finding
    words = "once" if times == 1 else f"{times} times"
    return replace(finding, run=f"a recorded run passed here {words} without the violation")


def _silences(suppression: Suppression, seen: Finding) -> bool:
    """Whether a comment, or the settings, silence the same violation where the source shows it."""
    same = (suppression.rule, suppression.path) == (seen.rule, seen.path)
    return same and (suppression.line == seen.line or suppression.finding.startswith(f"{seen.path}:{seen.line} "))


def _with_tests(finding: Finding, execution: ExecutionDetails) -> Finding:
    if (test := next((test for test in execution.tests if _shows(test, finding)), None)) is not None:
        witnesses = tuple(dict.fromkeys((*finding.witnesses, Witness.RUN)))
        run = finding.run or f"seen in a test, which fails here: {test.id}: {test.reason}"
        return replace(finding, witnesses=witnesses, run=run, certainty=Certainty.CERTAIN)
    around = _enclosing(finding, execution.functions)
    if around is None:
        return finding
    return replace(finding, untested=_why(around, execution.tests))


def _with_entries(finding: Finding, ends: Iterable[Evidence]) -> Finding:
    """The finding, seen in a run too where an entry of the oracles ended at its line by the error foretold."""
    if Witness.RUN in finding.witnesses:
        return finding
    for each in ends:
        if _is_foretold(f"{each.path}:{each.line}", each.summary, finding):
            witnesses = (*finding.witnesses, Witness.RUN)
            return replace(finding, witnesses=witnesses, run=each.summary, certainty=Certainty.CERTAIN)
    return finding


def _shows(test: TestOutcome, finding: Finding) -> bool:
    """Whether a test failed at the line of a finding, by the error that its rule foretells."""
    return _is_foretold(test.ended_at, test.reason, finding)


def _is_foretold(place: str, said: str, finding: Finding) -> bool:
    if not any(place == f"{each.path}:{each.line}" for each in finding.locations):
        return False
    if finding.rule.startswith("KEY"):
        return re.search(r"(?:^|raised )KeyError\b", said) is not None
    return any(part in said for part, violation in SCALER_ERRORS.items() if violation.value == finding.rule)


def _enclosing(finding: Finding, functions: Iterable[FunctionCoverage]) -> FunctionCoverage | None:
    """The innermost function around the finding."""
    around = [each for each in functions if each.path == finding.path and each.line <= finding.line <= each.end_line]
    return max(around, key=lambda each: each.line, default=None)


def _why(function: FunctionCoverage, tests: Sequence[TestOutcome]) -> str:
    skipping = {test.id for test in tests if test.outcome == "skipped"}
    entered = [test for test in function.tests if test not in skipping]
    if not entered and function.emulated:
        more = f" and {len(function.emulated) - 1} more" if len(function.emulated) > 1 else ""
        return f"only emulated tests execute `{function.symbol}`, and do not see it: {function.emulated[0]}{more}"
    if not entered:
        note = f" ({len(skipping)} skipped)" if skipping else ""
        return f"no test executes `{function.symbol}`{note}"
    bad = {test.id for test in tests if test.outcome in ("failed", "error", "started")}
    passed = [test for test in entered if test not in bad]
    failed = [test for test in entered if test in bad]
    ends = f"{counted(len(failed), 'test')} that {'fails' if len(failed) == 1 else 'fail'} for another reason"
    if not passed:
        return f"`{function.symbol}` is executed by {ends} only, for example {failed[0]}"
    also = f"; and {ends}" if failed else ""
    if len(passed) == 1:
        return f"one test executes `{function.symbol}` and does not see it: {passed[0]}{also}"
    return f"{len(passed)} tests execute `{function.symbol}` and do not see it, for example {passed[0]}{also}"

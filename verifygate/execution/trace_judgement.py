"""Judge the trace of a test run: each test by itself, and only what audited code did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verifygate.base.counts import counted
from verifygate.config.rule_selection import RuleSelection, ignoring_pattern, is_selected
from verifygate.execution.audited_events import own_events
from verifygate.execution.observed_violation import Form, ObservedViolation
from verifygate.execution.order import OrderJudge
from verifygate.execution.ranks import Ranks, compare, read_run, with_ranks
from verifygate.execution.recorded_trace import Trace
from verifygate.execution.run_findings import Ownership, findings
from verifygate.execution.run_integrity import EVIDENCE_LIMIT, Account
from verifygate.execution.run_violations import violations_of_the_run
from verifygate.execution.session import Session
from verifygate.execution.trace_summary import summary
from verifygate.model import Certainty, Check, Evidence, EvidenceClass, Finding, Place, Severity, Status, TraceSummary
from verifygate.protocol import Violation
from verifygate.sources.tree import Sources

ID = "execution.trace"
HEAD = 4000
"""Events kept of each test: the first."""


@dataclass(frozen=True)
class Recorded:
    """What the record of a test run comes to."""

    summary: TraceSummary
    findings: tuple[Finding, ...]
    tests: int
    """Tests in which AMP was at work."""
    emulated: bool = False

    @property
    def kind(self) -> EvidenceClass:
        return EvidenceClass.EMULATED if self.emulated else EvidenceClass.EXECUTED

    @property
    def has_live_scaler(self) -> bool:
        """Whether a scaler that is on took a step in audited code; a step of a test's own shows nothing of it."""
        return self.summary.own is not None and "scaler.step" in dict(self.summary.own.counts)


def recorders() -> list[tuple[str, dict[str, Any]]]:
    """The instruments of a test run: the recorder, and what explains errors about dtypes by it."""
    return [recorder(), ("dtypes", {})]


def recorder(*, emulated: bool = False) -> tuple[str, dict[str, Any]]:
    """The instrument, as it is set up for a test run."""
    return "recorder", {"head": HEAD, "tail": 0, "emulated": emulated}


def judged(session: Session, account: Account, sources: Sources, selection: RuleSelection) -> Recorded:
    """Read the record and judge it. What the static rules are told to leave out is left out here as well."""
    trace = read_run(session.written)
    relative = account.scrubber.inside
    passed = {one.test.id for one in account.judged if one.test.outcome in ("passed", "xfailed", "xpassed")}
    judge = OrderJudge(trace)
    tests = {
        account.scrubber.identity(section.name)
        for section in trace.sections
        if section.name and any(event.kind in ("autocast", "scale") for event in section.events)
    }
    ranks = compare(trace)
    hits = violations_by_test(trace, judge, ranks, account.scrubber.identity, passed)
    ownership = Ownership(sources, relative)
    kept = wanted_findings(hits, ownership, selection)
    seen = with_ranks(summary(trace, judge.visits, relative), ranks, account.scrubber.identity)
    return Recorded(seen.model_copy(update={"own": own_events(trace, ownership)}), kept, len(tests))


def violations_by_test(
    trace: Trace, judge: OrderJudge, ranks: Ranks, named: Callable[[str], str], passed: Collection[str]
) -> list[tuple[str, ObservedViolation]]:
    """What each test violated, with its name; `passed` are the names of those that passed."""
    hits: list[tuple[str, ObservedViolation]] = []
    for section in trace.sections:
        if not section.name:
            continue  # what happened before the first test belongs to none
        test = named(section.name)
        found = tuple(map(_of_a_test, (*judge.judge(section), *violations_of_the_run(section, trace, whole=False))))
        # What raised in a test that passed was expected to.
        hits += [(test, hit) for hit in found if not (test in passed and (hit.shown.raised or hit.blamed.raised))]
    return [*hits, *((named(name), hit) for name, hit in ranks.hits if name)]


def _of_a_test(hit: ObservedViolation) -> ObservedViolation:
    """A violation as a test shows it: the device of its tensors is the test's choice, and no fault of the code."""
    if hit.violation is not Violation.AUTOCAST_DEVICE_MISMATCH:
        return hit
    return replace(hit, certain=False, form=Form.DEVICE_OF_A_TEST)


def wanted_findings(
    hits: Iterable[tuple[str, ObservedViolation]], ownership: Ownership, selection: RuleSelection
) -> tuple[Finding, ...]:
    """The findings that violations come to, without what the static rules are told to leave out."""
    return tuple(each for each in findings(hits, ownership) if _is_wanted(each, selection))


def is_grave(finding: Finding) -> bool:
    """Whether what a run showed is proven, and harmful enough to fail for it."""
    return finding.certainty is Certainty.CERTAIN and finding.severity in (Severity.CRITICAL, Severity.HIGH)


def trace_check(
    runs: Sequence[Recorded],
    session: Session,
    *,
    on: bool,
    sources: Sources,
    asked: Sequence[Place],
    remedy: str = "",
    why_not: str = "",
) -> Check:
    """`execution.trace`: AMP ran in the tests, here or with CUDA emulated, and kept to the protocol.

    `asked` is where float16 with a loss scale is asked for, and no oracle saw it at work: then it has to be seen here,
    and `why_not` says why it was not. `remedy` is that of an oracle that could not see it.
    """
    unseen = asked if not any(each.has_live_scaler for each in runs) else ()
    status, actual = _judgement(runs, session, on=on, sources=sources, unseen=unseen, why_not=why_not)
    found = [(run.kind, each) for run in runs for each in run.findings]
    evidence = tuple(
        Evidence(
            id=f"E-{ID}-{number}",
            kind=kind,
            summary=f"{each.rule} {each.name}: {each.message}; {each.run}",
            path=each.path,
            line=each.line,
        )
        for number, (kind, each) in enumerate(found[:EVIDENCE_LIMIT], 1)
    )
    if status is Status.PASS:
        evidence = tuple(
            Evidence(
                id=f"E-{ID}-{number}",
                kind=run.kind,
                summary=f"every event kept of {counted(run.tests, 'test')} was walked through the protocol",
            )
            for number, run in enumerate((run for run in runs if run.tests), 1)
        )
    elif status is Status.NOT_MEASURED and unseen:
        evidence = tuple(
            Evidence(
                id=f"E-{ID}-{number}", kind=EvidenceClass.STATIC, summary=each.text, path=each.path, line=each.line
            )
            for number, each in enumerate(unseen[:EVIDENCE_LIMIT], 1)
        )
    remedies = {
        Status.FAIL: "correct the lines shown",
        Status.PARTIAL: "look at the lines shown",
        Status.NOT_MEASURED: remedy or "let a test train a few steps with autocast and a live scaler",
    }
    return Check(
        id=ID,
        title="What the tests do with AMP keeps to the protocol",
        status=status,
        required=status is Status.NOT_MEASURED and bool(unseen),
        expected="autocast or a live scaler is at work in a test, and no event breaks a rule",
        actual=actual,
        evidence=evidence,
        remedy=remedies.get(status, ""),
    )


def _judgement(
    runs: Sequence[Recorded], session: Session, *, on: bool, sources: Sources, unseen: Sequence[Place], why_not: str
) -> tuple[Status, str]:
    lost = [one for one in session.told if one["event"] == "not-installed"]
    found = [each for run in runs for each in run.findings]
    grave = [each for each in found if is_grave(each)]
    problems = [problem for run in runs for problem in run.summary.problems]
    if not on:
        return Status.NOT_APPLICABLE, "turned off by `execution.recorder = false`"
    low = "; ".join(dict.fromkeys(line for run in runs for line in run.summary.not_float32))
    at_work = low or any(run.tests for run in runs)
    if not any(file.mentions_amp for file in sources) and not at_work and not unseen:
        return Status.NOT_APPLICABLE, "no audited file mentions AMP"
    if grave:
        return Status.FAIL, _named(grave)
    if found and not unseen:
        return Status.PARTIAL, _named(found)
    if lost or problems:
        return Status.NOT_MEASURED, f"the recorder broke: {lost[0].get('error') if lost else problems[0]}"
    if unseen:
        where = f"float16 is asked for at {unseen[0].path}:{unseen[0].line}"
        why = f": {why_not}" if why_not else ""
        return Status.NOT_MEASURED, f"{where}, and no step of its code with a live scaler was recorded{why}"
    with_amp = [run for run in runs if run.tests]
    if not with_amp:
        stepped = f"; stepped in the tests: {low}" if low else ""
        return Status.NOT_MEASURED, f"no test ran autocast or a live scaler{stepped}"
    named = (counted(run.tests, "test") + (" with CUDA emulated" if run.emulated else "") for run in with_amp)
    return Status.PASS, f"no violation in {' and in '.join(named)}, with AMP at work"


def _named(found: Sequence[Finding]) -> str:
    shown = ", ".join(f"{each.rule} at {each.path}:{each.line}" for each in found[:5])
    return f"{counted(len(found), 'violation', 'violations')}: {shown}" + (
        f" and {len(found) - 5} more" if len(found) > 5 else ""
    )


def _is_wanted(finding: Finding, selection: RuleSelection) -> bool:
    """Whether the settings leave this rule on, in this file."""
    if ignoring_pattern(finding.path, finding.rule, finding.name, selection.per_file_ignores) is not None:
        return False
    return is_selected(finding.rule, finding.name, selection.select, selection.ignore)

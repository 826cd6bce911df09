"""Run the tests that skip for want of CUDA once more, where CUDA is emulated, and say what that shows.

Nothing is read from such a run but whether the code holds: no speed, no memory. A pass counts only where the test used
nothing that is not emulated; a failure is laid at the code's door only where the emulation has no part in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from verifygate.base.counts import counted
from verifygate.execution.attribution import CoverageUnreadableError, Lines, executed_lines
from verifygate.execution.checks import CUDA_WORDS
from verifygate.execution.emulation_limits import cause_in_the_emulation
from verifygate.execution.outcomes import Judged, judge
from verifygate.execution.remedies import without_cuda
from verifygate.execution.run_integrity import EVIDENCE_LIMIT, Account, tests_ran
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import Session, SessionOptions, bounds_of, run_pytest
from verifygate.execution.trace_judgement import Recorded, judged, recorder
from verifygate.model import (
    Check,
    EmulatedTest,
    Evidence,
    EvidenceClass,
    NotEmulated,
    Status,
    TestOutcome,
)
from verifygate.sources.file import SourceFile
from verifygate.stage import StageContext

ID = "execution.emulated"
TITLE = "Tests that skip for want of CUDA pass where CUDA is emulated"
INSTRUMENT = "emulate_cuda"
UNDER_EMULATION = "failed under emulation: "

ON_FIGURES = ("AssertionError", "ZeroDivisionError", "ValueError", "OverflowError")
"""Errors that a figure of 0, a time of NaN or a slow clock can cause; any other has its cause elsewhere."""


@dataclass(frozen=True)
class Gap:
    """Something that is not emulated and was used, and what that spoils."""

    told: NotEmulated
    spoils: str
    """`numbers`, `anything`, or `hint`: nothing by itself, but it explains a failed judgement on figures."""


@dataclass(frozen=True)
class Emulated:
    """What the emulated run adds to the stage's result."""

    check: Check
    tests: tuple[EmulatedTest, ...] = ()
    problem: str = ""
    """Why there was no emulated run, where there was none."""
    recorded: Recorded | None = None
    """What the recorder saw the code do there."""
    executed: Mapping[str, Lines] | None = None
    """The lines that the tests executed there, where they are known."""


def run_emulated(
    context: StageContext,
    account: Account,
    arguments: Sequence[str],
    folder: Path,
    files: Sequence[SourceFile] = (),
    passed: Collection[str] = (),
) -> Emulated:
    """Run what `account` says was skipped for want of CUDA; `arguments` are those of that first run.

    `passed` are tests that passed there and run again only for what the recorder sees: how they end here says nothing.
    `folder` is private to this run and does not exist yet. The lines of `files` that are executed are recorded.
    """
    skipped = _skipped(account)
    again = [*skipped, *(each for each in account.record.started if account.scrubber.identity(each) in passed)]
    nothing = _none(Status.NOT_APPLICABLE, "no test was skipped for want of CUDA")
    if not again:
        return Emulated(nothing)
    if not context.settings.execution.emulate_cuda:
        why = "turned off by `execution.emulate_cuda = false` or `--no-emulate-cuda`"
        off = _none(Status.NOT_MEASURED, why, without_cuda(emulated=False))
        return Emulated(off if skipped else nothing, (), why)
    context.progress(f"running {counted(len(again), 'test')} again, with CUDA emulated")
    settings = context.settings.execution
    instruments: list[tuple[str, dict[str, Any]]] = [(INSTRUMENT, {"capability": settings.capability})]
    instruments += [recorder(emulated=True)] if settings.recorder else []
    folder.mkdir()
    options = (word for word in arguments if not (context.subject.root / word.partition("::")[0]).exists())
    holding = dict.fromkeys(identity.partition("::")[0] for identity in again)
    session = run_pytest(
        context.subject,
        (*options, "--continue-on-collection-errors", *holding),
        folder=folder,
        bounds=bounds_of(settings),
        options=SessionOptions([context.subject.root / file.path for file in files], instruments, again),
    )
    if problem := _not_installed(session):
        return Emulated(_none(Status.NOT_MEASURED, problem) if skipped else nothing, (), problem)
    judged_there = judge(session.record, account.scrubber)
    there = Account(session.completed, session.record, judged_there, account.scrubber, account.interpreter)
    tests = tuple(one for one in _judge(skipped, session, there) if one.id not in passed)
    check = _check(tests) if skipped else nothing
    executed = _executed(session) if files else None
    if not settings.recorder:
        return Emulated(check, tests, executed=executed)
    recorded = judged(session, there, context.sources, context.settings.static.selection)
    findings = tuple(replace(one, run=f"with CUDA emulated, {one.run}") for one in recorded.findings)
    recorded = replace(recorded, findings=findings, emulated=True)
    return Emulated(check, tests, recorded=recorded, executed=executed)


def _executed(session: Session) -> Mapping[str, Lines] | None:
    try:
        return executed_lines(session.coverage_data) if session.record.coverage == "" else None
    except CoverageUnreadableError:
        return None


def _skipped(account: Account) -> dict[str, TestOutcome]:
    """Id as pytest knows it -> what became of the test (or file) that was skipped for want of CUDA."""
    scrubber, record = account.scrubber, account.record
    tests = (one.test for one in account.judged if one.test.outcome == "skipped")
    wanted = {test.id: test for test in tests if CUDA_WORDS.search(test.reason)}
    known = {identity: scrubber.identity(identity) for identity in record.started}
    known |= {told.id: scrubber.identity(scrubber.path(told.id)) for told in record.not_collected}
    return {identity: wanted[shown] for identity, shown in known.items() if shown in wanted}


def _not_installed(session: Session) -> str:
    """Why CUDA was not emulated; empty where it was."""
    told = {one["event"]: one for one in session.told if one.get("instrument") == INSTRUMENT}
    if "installed" in told:
        return ""
    if "not-installed" in told:
        return f"CUDA could not be emulated: {told['not-installed'].get('error')}"
    return f"CUDA was not emulated: the run never imported torch ({session.completed.ending})"


def _judge(skipped: Mapping[str, TestOutcome], session: Session, account: Account) -> tuple[EmulatedTest, ...]:
    """Every test that was skipped, or that a skipped file holds, with its standing."""
    scrubber, ran = account.scrubber, tests_ran(account, "")
    gaps = _gaps(session.told, scrubber)
    found = {one.test.id: one for one in account.judged}
    tests = [_stands(one, _own(one, gaps), scrubber) for one in found.values()]
    begun = {scrubber.identity(identity): outcome for identity, outcome in skipped.items()}
    for shown, outcome in begun.items():
        if shown in found or any(identity.startswith(f"{shown}::") for identity in found):
            continue
        ended = session.record.status is not None
        why = "it was not collected there" if ended else f"that run ended before it: {ran.actual}"
        tests.append(_emulated(outcome, "not measured", why, (), ran_there=False))
    if account.doubtful:
        tests = [one.model_copy(update={"standing": "not measured", "reason": ran.actual}) for one in tests]
    return tuple(sorted(tests, key=lambda one: (one.path, one.line, one.id)))


def _gaps(told: Iterable[dict[str, Any]], scrubber: Scrubber) -> dict[str, list[Gap]]:
    """Test or file -> what it used that is not emulated; what conftests used stands under the empty name."""
    gaps: dict[str, list[Gap]] = {}
    owner = ""
    for one in told:
        if one["event"] in ("collecting", "testing"):
            owner = scrubber.identity(str(one.get("id")))
        elif one["event"] == "not-emulated":
            path = scrubber.path(str(one.get("path")))
            line = one.get("line")
            feature = NotEmulated(
                feature=scrubber.text(str(one.get("feature"))),
                instead=scrubber.text(str(one.get("instead"))),
                path=path,
                line=line if isinstance(line, int) else 0,
            )
            gaps.setdefault(owner, []).append(Gap(feature, str(one.get("spoils"))))
    return gaps


def _own(one: Judged, gaps: Mapping[str, list[Gap]]) -> list[Gap]:
    """What the test used itself, and what its file and the conftests used while they were loaded."""
    file = one.test.id.partition("::")[0]
    return [gap for owner in dict.fromkeys(("", file, one.test.id)) for gap in gaps.get(owner, ())]


def _stands(one: Judged, gaps: Sequence[Gap], scrubber: Scrubber) -> EmulatedTest:
    """The rule: nothing that the emulation may have caused is blamed on the code, or put to its credit."""
    test = one.test
    spoiling = [gap for gap in gaps if gap.spoils != "hint"]
    if test.outcome == "passed":
        if spoiling:
            return _emulated(test, "not measured", f"passed, but used what is not emulated: {_named(spoiling)}", gaps)
        return _emulated(test, "passed", "", gaps)
    if test.outcome not in ("failed", "error"):
        why = f"{test.outcome}: {test.reason}" if test.reason else test.outcome
        return _emulated(test, "not measured", why, gaps)
    kind = test.reason.partition(":")[0].rpartition(".")[2]
    excuses = [gap for gap in gaps if gap.spoils == "anything" or kind in ON_FIGURES]
    if excuses:
        why = f"{test.reason}; the cause may be what is not emulated: {_named(excuses)}"
        return _emulated(test, "not measured", why, gaps)
    if cause := cause_in_the_emulation(test.reason, one.trace, scrubber.inside):
        return _emulated(test, "not measured", f"{test.reason}; {cause}", gaps)
    place = one.failed_at or ("", 0)
    return _emulated(test, "failed", f"{UNDER_EMULATION}{test.reason}", gaps, place)


def _emulated(
    test: TestOutcome,
    standing: Literal["passed", "failed", "not measured"],
    reason: str,
    gaps: Sequence[Gap],
    place: tuple[str, int] | None = None,
    ran_there: bool = True,
) -> EmulatedTest:
    path, line = place or (test.path, test.line)
    return EmulatedTest(
        id=test.id,
        standing=standing,
        outcome=test.outcome if ran_there else "",
        reason=reason,
        path=path,
        line=line,
        requirements=test.requirements,
        not_emulated=tuple(gap.told for gap in gaps),
    )


def _named(gaps: Sequence[Gap]) -> str:
    told = (gap.told for gap in gaps)
    return ", ".join(f"{one.feature} ({one.instead}; {one.path}:{one.line})" for one in told)


def _check(tests: Sequence[EmulatedTest]) -> Check:
    """A failure blocks. What could not be shown only informs: it was not shown before either."""
    by_standing = {
        name: [one for one in tests if one.standing == name] for name in ("failed", "not measured", "passed")
    }
    failed, unmeasured, passed = by_standing.values()
    if failed:
        status = Status.FAIL
    elif unmeasured:
        status = Status.PARTIAL if passed else Status.NOT_MEASURED
    else:
        status = Status.PASS
    shown = [one for each in by_standing.values() for one in each][:EVIDENCE_LIMIT]
    parts = [f"{len(each)} {name}" for name, each in by_standing.items() if each]
    first = "; ".join(f"{one.id}: {one.reason}" for one in (failed or unmeasured)[:3])
    return Check(
        id=ID,
        title=TITLE,
        status=status,
        required=status is Status.FAIL,
        expected="each of them passes, and uses nothing that is not emulated",
        actual=f"{counted(len(tests), 'test')} with CUDA emulated: {', '.join(parts)}"
        + (f"; {first}" if first else ""),
        evidence=tuple(
            Evidence(
                id=f"E-{ID}-{number}",
                kind=EvidenceClass.EMULATED,
                summary=f"{one.id}: {one.standing}" + (f" ({one.reason})" if one.reason else ""),
                path=one.path or None,
                line=one.line or None,
            )
            for number, one in enumerate(shown, 1)
        ),
        remedy=_REMEDIES[status],
    )


_REMEDIES = {
    Status.FAIL: "correct the code at the line shown; the test fails with CUDA emulated, and nothing that it used "
    "stands in the way",
    Status.PARTIAL: without_cuda(emulated=True),
    Status.NOT_MEASURED: "run the gate on a machine with CUDA",
    Status.PASS: "",
}


def _none(status: Status, why: str, remedy: str = "run the gate on a machine with CUDA") -> Check:
    applies = status is not Status.NOT_APPLICABLE
    return Check(id=ID, title=TITLE, status=status, required=False, actual=why, remedy=remedy if applies else "")

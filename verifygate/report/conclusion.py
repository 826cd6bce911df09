"""A report in three sentences, and what to do about it, the most urgent first. All of it follows from the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from verifygate.base.counts import counted
from verifygate.model import Certainty, Finding, Outcome, Severity, StageResult, Status, Verdict
from verifygate.report.causes import in_words
from verifygate.report.phrases import tally, words
from verifygate.report.view import Asked, View

BEFORE_MERGING = "before merging"
SOON = "soon"
FOR_THE_EVIDENCE = "to get the missing evidence"
WHEN_THERE_IS_TIME = "when there is time"

Place = tuple[str, int | None]


@dataclass(frozen=True)
class Recommendation:
    """One thing to do, however many places ask for it."""

    urgency: str
    text: str
    places: tuple[Place, ...] = ()
    checks: tuple[str, ...] = ()
    """Ids of the checks that it is for."""


# --- three sentences


def sentences(view: View) -> tuple[str, str, str]:
    """For somebody who reads nothing else: what was decided, what is worst about it, what nobody knows."""
    return _decided(view), _worst(view), _unknown(view)


def _decided(view: View) -> str:
    untrained = f"{view.untrained}. " if view.untrained else ""
    commands = words(f"`{each.command}`" for each in view.started)
    started = f"Found in the source, and started for `--entries found`: {commands}. " if view.started else ""
    return f"{untrained}{started}{_judged(view)}"


def _judged(view: View) -> str:
    completed = [stage for stage in view.report.stages if stage.outcome is Outcome.COMPLETED]
    looked = words(_looked(stage) for stage in completed) if completed else "no stage"
    if view.report.verdict is Verdict.PASS:
        return f"Nothing that was checked speaks against merging: {looked}."
    blocking = [finding for reason in view.report.reasons if (finding := view.finding_of(reason))]
    others = len(view.report.reasons) - len(blocking)
    parts = [f"{counted(len(blocking), 'finding')} ({tally(blocking)})"] if blocking else []
    parts += [counted(others, "other reason" if blocking else "reason")] if others else []
    return f"Do not merge, because of {words(parts)}{in_words(view.report.reasons)}; looked at: {looked}."


def _looked(stage: StageResult) -> str:
    """`static (PASS for 56 of 57 checks)`."""
    counting = [check for check in stage.checks if check.status is not Status.NOT_APPLICABLE]
    passed = sum(check.status is Status.PASS for check in counting)
    return f"{stage.stage} (PASS for {passed} of {counted(len(counting), 'check')})"


def _worst(view: View) -> str:
    if view.report.reasons:
        reason = view.report.reasons[0]
        finding = view.finding_of(reason)
        if finding is None:
            return f"First of all: {view.said(reason)}."
        place = f"`{reason.path}:{reason.line}`" if reason.line else f"`{reason.path}`"
        return f"The worst is {finding.rule} {finding.name} at {place}: {_harm(view, finding)}"
    if not view.findings:
        return "There is no finding."
    worst = view.findings[0]
    head = f"{counted(len(view.findings), 'finding')} ({tally(view.findings)}) do not block"
    return f"{head}, {worst.rule} {worst.name} at `{worst.path}:{worst.line}` first: {_harm(view, worst)}"


def _harm(view: View, finding: Finding) -> str:
    """What was found here, then what such code does: the rule's impact is that of its examples, not of this program."""
    impact = view.impact(finding.rule)
    told = f"{finding.message.removesuffix('.')}. Such code: {impact}" if impact else finding.message
    return told if told.endswith(".") else f"{told}."


_NONE = ", none of which blocks by itself"


def _unknown(view: View) -> str:
    waived = sum(view.waiver(asked.check) is not None for asked in view.left_open)
    parts = []
    if view.left_open:
        some = f", {waived} of them waived" if waived else ""
        first = view.left_singly[0].check if view.left_singly else None
        status = f" ({first.status})" if first and first.status is Status.FAIL else ""
        told = f", the first `{first.id}`{status}: {view.actual(first)}" if first else _NONE
        parts.append(f"{counted(len(view.left_open), 'check')}{some}{told}")
    if view.not_run:
        parts.append(f"{words(stage.stage for stage in view.not_run)}, which did not run")
    if view.not_asked:
        parts.append(f"{words(view.not_asked)}, which nobody asked for")
    return f"Not shown: {'; '.join(parts)}." if parts else "Everything that was asked is shown."


# --- what to do


def recommendations(view: View) -> list[Recommendation]:
    """Each thing to do once, the most urgent first."""
    grave = [finding for finding in view.beside if finding.severity in (Severity.CRITICAL, Severity.HIGH)]
    rest = [finding for finding in view.beside if finding not in grave and not finding.is_note]
    unknown = [asked for asked in view.left_open if asked.check.status is Status.NOT_MEASURED]
    lacking = [asked for asked in view.left_open if asked not in unknown]
    return [
        *_blocking(view),
        *_training(view),
        *_of_findings(SOON, grave),
        *_of_checks(SOON, lacking),
        *_of_checks(FOR_THE_EVIDENCE, unknown),
        *_of_findings(WHEN_THERE_IS_TIME, rest),
    ]


def _blocking(view: View) -> list[Recommendation]:
    if not view.report.reasons:
        return []
    number = len(view.report.reasons)
    what = "clear the one reason above" if number == 1 else f"clear the {number} reasons above, from the first on"
    return [Recommendation(BEFORE_MERGING, f"{what}, and run the gate again")]


def _training(view: View) -> list[Recommendation]:
    """To run what trains, where nothing did: the most of what is missing follows from that."""
    best = view.candidate
    places = ((best.path, best.line),) if best is not None else ()
    return [Recommendation(FOR_THE_EVIDENCE, view.how_to_train, places)] if view.how_to_train else []


def _of_findings(urgency: str, findings: Iterable[Finding]) -> list[Recommendation]:
    """One for each rule and remedy."""
    by_remedy: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_remedy.setdefault((f"{finding.rule} {finding.name}", finding.remedy), []).append(finding)
    return [
        Recommendation(
            urgency,
            f"{rule}: {_asked(remedy, same)}",
            tuple(chain.from_iterable(((place.path, place.line) for place in each.locations) for each in same)),
        )
        for (rule, remedy), same in by_remedy.items()
    ]


def _asked(remedy: str, same: list[Finding]) -> str:
    text = remedy or "see the rule"
    return (
        text if any(each.certainty is Certainty.CERTAIN for each in same) else f"read the code, and if it holds, {text}"
    )


def _of_checks(urgency: str, open_checks: Iterable[Asked]) -> list[Recommendation]:
    """One for each remedy, with all the checks that it is for."""
    by_remedy: dict[str, list[str]] = {}
    for asked in open_checks:
        if asked.check.remedy:
            by_remedy.setdefault(asked.check.remedy, []).append(asked.check.id)
    return [Recommendation(urgency, remedy, checks=tuple(checks)) for remedy, checks in by_remedy.items()]

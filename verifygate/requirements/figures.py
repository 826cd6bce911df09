"""Answers that another stage already gave: its measurements and its checks, with the class of their evidence."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.model import Check, EvidenceClass, Measurement, Status
from verifygate.requirements.calculations import meets, of_measurement
from verifygate.requirements.facts import SHOWN, Answer, Cite, Facts, Missing, matches, together
from verifygate.requirements.spec import Query

CLASS_OF = {
    "execution": EvidenceClass.EXECUTED,
    "static": EvidenceClass.STATIC,
    "performance": EvidenceClass.MEASURED,
}
"""What a stage's check rests on where it cites nothing of its own."""
_WORST_FIRST = (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL, Status.PASS)


def measurement(query: Query, facts: Facts) -> Answer:
    """Whether the measurements that the query names were taken, hold up, and met their targets."""
    stage, wanted = facts.stage("performance"), query.measurement or ""
    if isinstance(stage, Missing):
        return stage.answer
    found = [item for item in stage.measurements if matches(item.id, wanted)]
    if not found:
        return Answer(Status.NOT_MEASURED, f"no measurement {wanted} was taken", remedy="name a workload to measure")
    judged = sorted(
        ((item, *_held(item, stage.measurements)) for item in found), key=lambda one: _WORST_FIRST.index(one[1])
    )
    worst, status, why = judged[0]
    advice = [one.remedy for one in stage.checks if one.measurement == worst.id and one.remedy]
    return Answer(
        together(status for _, status, _ in judged),
        "; ".join(f"{item.id} on {item.device}: {status}{_because(why)}" for item, status, why in judged),
        tuple(Cite(item.kind, f"measurement {item.id} ({item.kind}), {status}") for item, status, _ in judged[:SHOWN]),
        measurements=tuple(item.id for item in found),
        remedy="" if status is Status.PASS else (advice or [f"measure {worst.id} again: {why}"])[0],
    )


def check(query: Query, facts: Facts) -> Answer:
    """The answer of another stage's check, carried over: with its evidence, and never better than that."""
    wanted = query.check or ""
    name = wanted.partition(".")[0]
    stage = facts.stage(name)
    if isinstance(stage, Missing):
        return stage.answer
    found = next((item for item in stage.checks if item.id == wanted), None)
    if found is None:
        return Answer(Status.NOT_MEASURED, f"the {name} stage made no check {wanted}", remedy="correct the check's id")
    kinds = [item.kind for item in found.evidence] or [CLASS_OF[name]]
    status, why = _carried(found, kinds, stage.measurements)
    strongest = min(kinds, key=list(EvidenceClass).index)
    cites = [Cite(item.kind, item.summary, item.path, item.line) for item in found.evidence[:SHOWN]]
    if found.status is Status.PASS:
        cites.insert(0, Cite(strongest, f"check {wanted} passed, by evidence of class {strongest}"))
    return Answer(
        status,
        f"{wanted}: {status}{_because(why or found.actual)}",
        tuple(cites),
        measurements=(found.measurement,) if found.measurement else (),
        remedy="" if status is Status.PASS else found.remedy or f"make {wanted} pass",
    )


def _carried(found: Check, kinds: list[EvidenceClass], taken: Sequence[Measurement]) -> tuple[Status, str]:
    """The check's status, and why it is worse than that where its evidence does not carry it."""
    if found.status is Status.NOT_APPLICABLE:
        return Status.NOT_MEASURED, f"the check does not apply here: {found.actual or found.expected}"
    if found.status is not Status.PASS:
        return found.status, ""
    if not any(kind.satisfies for kind in kinds):
        return Status.NOT_MEASURED, f"its evidence is only {kinds[0]}"
    for summary in (item for item in taken if item.id == found.measurement):
        held, why = _held(summary, taken)
        if held is not Status.PASS:
            return held, f"{summary.id}: {why}"
    return Status.PASS, ""


def _held(item: Measurement, taken: Sequence[Measurement]) -> tuple[Status, str]:
    """A measurement's status after its class, its value and its samples were looked at; and why it is not PASS."""
    if not item.kind.satisfies:
        return Status.NOT_MEASURED, f"its evidence is only {item.kind}"
    calculation = of_measurement(item, taken)
    if calculation and calculation.status is Status.FAIL:
        return Status.FAIL, calculation.reason
    reported_only = item.status is Status.NOT_APPLICABLE and not item.target
    if item.status is not Status.PASS and not (reported_only and item.value is not None):
        ended = Status.NOT_MEASURED if item.status is Status.NOT_APPLICABLE else item.status
        return ended, item.reason or (f"target {item.target}" if item.target else "it does not apply here")
    if item.value is None:
        floor = item.low is not None and meets(item.target, item.low)
        return (Status.PASS, "") if floor else (Status.NOT_MEASURED, "no value was reported")
    if calculation and calculation.status is not Status.PASS:
        return calculation.status, calculation.reason
    return Status.PASS, ""


def _because(why: str) -> str:
    return f" ({why})" if why else ""

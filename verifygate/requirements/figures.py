"""Answers that another stage already gave: its measurements and its checks, with the class of their evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from verifygate.model import Check, EvidenceClass, Measurement, PerformanceDetails, StageResult, Status
from verifygate.requirements.calculations import meets, of_measurement
from verifygate.requirements.facts import SHOWN, Answer, Cite, Facts, Missing, matches, together
from verifygate.requirements.queries import MeasurementQuery, Query, RunQuery
from verifygate.stage_registry import STAGES

CLASS_OF = {name: EvidenceClass(entry.evidence) for name, entry in STAGES.items() if entry.evidence}
"""What a stage's check rests on where it cites nothing of its own."""
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda value, bound: value >= bound,
    "<=": lambda value, bound: value <= bound,
    "within +-": lambda value, bound: abs(value) <= bound,
}
_WORST_FIRST = (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL, Status.PASS)


def measurement(query: Query, facts: Facts) -> Answer:
    """Whether the measurements that the query names were taken, hold up, and met what is asked of them."""
    stage, asked = facts.stage("performance"), query.measurement
    assert asked is not None  # noqa: S101 - a query of this kind has one
    if isinstance(stage, Missing):
        return stage.answer
    found = [item for item in stage.measurements if _is_about(item, asked)]
    if not found:
        actual = f"no measurement {asked.subject} was taken"
        return Answer(Status.NOT_MEASURED, actual, remedy="name a workload to measure")
    judged = sorted(((item, *_met(item, asked, stage)) for item in found), key=lambda one: _WORST_FIRST.index(one[1]))
    worst, status, why = judged[0]
    advice = [one.remedy for one in stage.checks if one.measurement == worst.id and one.remedy]
    return Answer(
        together(status for _, status, _ in judged),
        "; ".join(f"{item.id} on {item.device}: {status}{_because(why)}" for item, status, why in judged),
        tuple(Cite(item.kind, f"measurement {item.id} ({item.kind}), {status}") for item, status, _ in judged[:SHOWN]),
        measurements=tuple(item.id for item in found),
        remedy="" if status is Status.PASS else (advice or [f"measure {worst.id} again: {why}"])[0],
    )


def _is_about(item: Measurement, asked: MeasurementQuery) -> bool:
    """Whether a measurement is the one that is asked for."""
    return matches(item.id, asked.id) if asked.id else item.metric == asked.metric and _counts(item)


def _counts(item: Measurement) -> bool:
    """Whether a measurement speaks for its metric: `speedup-on-cpu`, only reported beside `speedup`, does not."""
    return item.id.partition(".")[0] == item.metric


def _met(item: Measurement, asked: MeasurementQuery, stage: StageResult) -> tuple[Status, str]:
    """The measurement's status under the query's own terms, where it has any; and why it is not PASS."""
    if asked.device and not _is_on(item, asked.device, stage):
        why = item.reason or f"it was measured on {item.device}"
        return Status.NOT_MEASURED, f"asked for {asked.device}: {why}"
    if asked.unit and item.unit != asked.unit:
        return Status.NOT_MEASURED, f"it is in {item.unit}, and the bound is in {asked.unit}"
    if asked.bound is None:
        return _held(item, stage.measurements)
    operator, bound = asked.bound
    target = f"{operator}{'' if operator.endswith('-') else ' '}{bound:g}"
    if item.target == target:
        return _held(item, stage.measurements)
    return _judged_anew(item, asked.bound, target, stage.measurements)


def _judged_anew(
    item: Measurement, asked: tuple[str, float], target: str, taken: Sequence[Measurement]
) -> tuple[Status, str]:
    """A measurement held against another bound than its stage's: the whole 95 % interval has to meet it."""
    if item.value is None:
        return _held(item.model_copy(update={"target": target}), taken)
    free = item.model_copy(update={"target": "", "status": Status.NOT_APPLICABLE})
    status, why = _held(free, taken)
    if status is not Status.PASS:
        return status, why
    operator, bound = asked
    ends = [end for end in (item.low, item.value, item.high) if end is not None]
    met = [_HOLDS[operator](end, bound) for end in ends]
    if all(met):
        return Status.PASS, ""
    if any(met) or (operator == "within +-" and ends[0] < 0 < ends[-1]):
        return Status.NOT_MEASURED, f"too noisy: the 95 % interval holds the bound {target}"
    return Status.FAIL, f"it misses the bound {target}"


def _is_on(item: Measurement, wanted: str, stage: StageResult) -> bool:
    """Whether it was measured on such a device; what was not measured anywhere was not measured there."""
    if item.device in ("accelerator", "unknown"):
        return False
    protocol = dict(stage.details.protocol) if isinstance(stage.details, PerformanceDetails) else {}
    kind = "cpu" if item.device == "cpu" else protocol.get("device", "")
    if wanted == "accelerator":
        return item.device != "cpu"
    return wanted == kind or fnmatchcase(item.device, wanted)


def judged_share(asked: RunQuery, facts: Facts) -> Answer | None:
    """The low-precision share as the performance stage measured it; None where it did not."""
    operator, bound = asked.bound
    terms = {"at_least" if operator == ">=" else "at_most": bound}
    query = Query(measurement=MeasurementQuery(metric="low-precision-share", **terms))
    answer = measurement(query, facts)
    return answer if answer.measurements else None


def check(query: Query, facts: Facts) -> Answer:
    """The answer of another stage's check."""
    return carried_over(query.check or "", facts, "correct the check's id")


def carried_over(wanted: str, facts: Facts, how: str) -> Answer:
    """A check's answer with its evidence, and never better than that; `how` says how the check is had at all."""
    name = wanted.partition(".")[0]
    stage = facts.stage(name)
    if isinstance(stage, Missing):
        return stage.answer
    found = next((item for item in stage.checks if item.id == wanted), None)
    if found is None:
        return Answer(Status.NOT_MEASURED, f"the {name} stage made no check {wanted}", remedy=how)
    kinds = [item.kind for item in found.evidence] or [CLASS_OF[name]]
    status, why = _carried(found, kinds, stage.measurements)
    remedy = found.remedy or (how if found.status is Status.NOT_APPLICABLE else f"make {wanted} pass")
    strongest = min(kinds, key=list(EvidenceClass).index)
    cites = [Cite(item.kind, item.summary, item.path, item.line) for item in found.evidence[:SHOWN]]
    if found.status is Status.PASS:
        cites.insert(0, Cite(strongest, f"check {wanted} passed, by evidence of class {strongest}"))
    return Answer(
        status,
        f"{wanted}: {status}{_because(why or found.actual)}",
        tuple(cites),
        measurements=(found.measurement,) if found.measurement else (),
        remedy="" if status is Status.PASS else remedy,
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

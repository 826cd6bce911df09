"""Answers from signed measurement records, for what this machine cannot measure itself."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.config.performance import PerformanceSettings
from verifygate.model import Check, Evidence, EvidenceClass, Measurement, Status
from verifygate.performance.attestation.acceptance import AGAIN, Ruling, newest
from verifygate.performance.case import Answer
from verifygate.performance.judgement import judge


def completed(answers: Sequence[Answer], rulings: Sequence[Ruling], settings: PerformanceSettings) -> list[Answer]:
    """The answers of this machine, with those of the newest accepted record where it knows more or worse.

    The record's samples are judged here, by this run's targets. Where no record is accepted, what was not measured
    says of each record why it is not.
    """
    if not rulings:
        return list(answers)
    record = newest(rulings)
    there = {}
    if record is not None and record.comparison is not None:
        there = {answer.check.id: _from(answer, record) for answer in judge(record.comparison, settings)}
    joined = []
    for answer in answers:
        other = there.get(answer.check.id)
        if other is not None and _knows_more(other.check, answer.check):
            joined.append(Answer(other.check, _each_once(other, answer)))
        else:
            joined.append(answer if record is not None else _told(answer, rulings))
    return [*joined, Answer(_check(rulings, record))]


def _knows_more(record: Check, here: Check) -> bool:
    if record.status is Status.NOT_MEASURED:
        return False
    return here.status is Status.NOT_MEASURED or (record.status is Status.FAIL and here.status is not Status.FAIL)


def _each_once(first: Answer, second: Answer) -> tuple[Measurement, ...]:
    known = {measurement.id for measurement in first.measurements}
    return (
        *first.measurements,
        *(each for each in second.measurements if each.id not in known and each.value is not None),
    )


def _from(answer: Answer, record: Ruling) -> Answer:
    """The answer with the record as its evidence."""
    check = answer.check
    evidence = Evidence(
        id=f"E-{check.id.replace('.', '-')}-record",
        kind=EvidenceClass.MEASURED,
        summary=f"{record.origin}, record {record.path}",
        path=record.path,
    )
    return Answer(check.model_copy(update={"evidence": (evidence,)}), answer.measurements)


def _told(answer: Answer, rulings: Sequence[Ruling]) -> Answer:
    """What was not measured here, with what is wrong with each record."""
    check = answer.check
    if check.status is not Status.NOT_MEASURED or not check.required:
        return answer
    actual = "; ".join([*(f"{ruling.path} {ruling.told}" for ruling in rulings), *filter(None, [check.actual])])
    return Answer(check.model_copy(update={"actual": actual, "remedy": AGAIN}), answer.measurements)


def _check(rulings: Sequence[Ruling], record: Ruling | None) -> Check:
    """Whether the records can be believed: a forged one is a fault of its own, a stale one is only of no use."""
    forged = any(ruling.forged for ruling in rulings)
    status = Status.FAIL if forged else Status.PASS if record is not None else Status.NOT_MEASURED
    remedy = {
        Status.FAIL: "find out who changed the record, and take it away",
        Status.NOT_MEASURED: AGAIN,
    }
    return Check(
        id="performance.records",
        title="Records of measurements made elsewhere",
        status=status,
        required=forged,
        weight=0,
        expected="each agrees with itself and its signature; one is of these files, recent, and of the right device",
        actual="; ".join(f"{ruling.path} {ruling.told}" for ruling in rulings),
        remedy=remedy.get(status, ""),
    )

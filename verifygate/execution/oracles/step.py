"""The step of the execution stage: the checks and findings that follow from what the oracles answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles import edge_cases, resume
from verifygate.execution.oracles.answers import Answer, Blame
from verifygate.execution.oracles.planning import (
    CAPABILITY,
    INF,
    NUMBERS,
    SCALE,
    SCHEDULE,
    UPDATE,
    Entry,
    entries_of,
    questions,
    rank,
)
from verifygate.execution.oracles.runs import EntryError, Questions, answered_together
from verifygate.execution.recorded_trace import read_trace
from verifygate.execution.run_rules import RULES
from verifygate.execution.scrub import Scrubber
from verifygate.execution.trace_summary import summary
from verifygate.model import Certainty, Check, EntryPrecision, Evidence, EvidenceClass, Finding, Status, Witness
from verifygate.model.fingerprint import fingerprint
from verifygate.process.subject import Subject
from verifygate.protocol import Violation
from verifygate.sources.tree import Sources

HOW = (
    "name what trains in `execution.oracles.entries`, or, where it needs CUDA, in `emulated_entries`: "
    "`python train.py ...`, or a test's id"
)


@dataclass(frozen=True)
class Question:
    """What every check of an oracle says of itself."""

    title: str
    expected: str
    weight: int
    required: bool
    """Whether anything but a pass blocks."""
    fails: bool = False
    """Whether a failure blocks all the same."""


QUESTIONS = {
    SCALE: Question(
        "The weights do not depend on the loss scale",
        "bit-identical weights from loss scale 2^8 and 2^16, bfloat16 in place of float16",
        2,
        True,
    ),
    INF: Question(
        "An inf gradient costs one step and nothing else",
        "weights unchanged and finite, scale halved, optimizer's count not advanced, training goes on",
        2,
        True,
    ),
    SCHEDULE: Question(
        "A skipped step does not move the schedule", "a per-step schedule waits while the scaler skips", 0, False
    ),
    UPDATE: Question(
        "What has a gradient moves",
        "every trainable parameter with a gradient that is not zero changes within the first steps",
        0,
        False,
    ),
    NUMBERS: Question(
        "Skipped steps are the loss scale's doing",
        "no operation of the project's overflows, divides by 0 or makes a NaN at any loss scale",
        0,
        False,
        fails=True,
    ),
    resume.RESUME: Question(
        "A resumed run is the unbroken run",
        "the same bits after each step behind the checkpoint, in a new process",
        2,
        True,
    ),
} | {f"edge-{probe.name}": Question(probe.title, probe.expected, 0, False) for probe in edge_cases.PROBES}


@dataclass(frozen=True)
class Examined:
    """What the oracles add to the stage's result."""

    checks: tuple[Check, ...]
    entries: tuple[str, ...] = ()
    """What was asked, in order; the checks speak of `entry 1`, `entry 2`."""
    findings: tuple[Finding, ...] = ()
    half_precision: tuple[EntryPrecision, ...] = ()
    has_live_scaler: bool = False
    """Whether an entry was run with a scaler that is on."""


def ask_the_oracles(
    subject: Subject,
    settings: OraclesSettings,
    sources: Sources,
    scrubber: Scrubber,
    folder: Path,
    *,
    capability: tuple[int, int] = CAPABILITY,
) -> Examined:
    """Run the configured entries and judge them. `folder` is private to this call; it is made here.

    `capability` is that of the CUDA device where one is emulated.
    """
    entries = entries_of(settings, subject.root, capability)
    asked: list[Questions[Any]] = [questions(settings, entries)] if entries else []
    asked += [resume.questions(settings, subject.root, folder)] if settings.resume else []
    ends = answered_together(subject, folder, asked) if asked else []
    examined = _of_entries(settings, entries, ends[0] if entries else None, sources, scrubber)
    if not settings.resume:
        return examined
    first, answers = len(settings.commands) + 1, ends[-1]
    if isinstance(answers, Exception):
        how = "name commands in `execution.oracles.resume`: `python train.py ...`"
        answers = [Answer(Status.NOT_MEASURED, str(answers), (), (), how)]
    check = _check(resume.RESUME, list(enumerate(answers, start=first)), scrubber)
    told = tuple(f"{each.train}, then {each.resume}" for each in settings.resume)
    return replace(examined, checks=(*examined.checks, check), entries=(*settings.commands, *told))


def _of_entries(
    settings: OraclesSettings,
    entries: Sequence[Entry],
    failed: EntryError | OSError | None,
    sources: Sources,
    scrubber: Scrubber,
) -> Examined:
    """What the entries answer to other loss scales, inf, and the edge cases; `failed` is why they did not run."""
    if not settings.commands:
        return Examined(tuple(_check(name, [], scrubber) for name in (SCALE, INF)))
    if failed is not None:
        answer = Answer(Status.NOT_MEASURED, str(failed), (), (), HOW)
        return Examined(tuple(_check(name, [(1, answer)], scrubber) for name in (SCALE, INF)), settings.commands)
    asked = [name for name in QUESTIONS if name in (SCALE, INF) or any(name in entry.answers for entry in entries)]
    numbered = list(enumerate(entries, start=1))
    checks = [
        _check(name, [(number, entry.answers[name]) for number, entry in numbered if name in entry.answers], scrubber)
        for name in asked
    ]
    found = tuple(_findings(entries, sources, scrubber))
    precision = tuple(_half_precision(number, entry, scrubber) for number, entry in numbered)
    live = any(entry.enabled or entry.can_be_switched_on for entry in entries)
    return Examined(tuple(checks), settings.commands, found, precision, live)


def _half_precision(number: int, entry: Entry, scrubber: Scrubber) -> EntryPrecision:
    """What a sample of the unchanged run says."""
    seen = summary(read_trace(entry.seen.folder / "trace"), {}, scrubber.inside)
    return EntryPrecision(
        entry=number,
        emulated=entry.seen.emulated,
        low_precision=seen.low_precision,
        not_sampled="; ".join(scrubber.text(each) for each in (*seen.problems, seen.not_sampled) if each),
    )


def _check(name: str, answers: Sequence[tuple[int, Answer]], scrubber: Scrubber) -> Check:
    """One check from the answers of all entries; the worst one speaks for it."""
    question, identity = QUESTIONS[name], f"execution.{name}"
    if not answers:
        return Check(
            id=identity,
            title=question.title,
            status=Status.NOT_APPLICABLE,
            weight=question.weight,
            expected=question.expected,
            actual=f"not configured: {HOW}",
        )
    ordered = sorted(answers, key=lambda pair: rank(pair[1]))
    worst = ordered[0][1]
    facts = [
        (entry, answer.emulated, fact.text, scrubber.inside(fact.place[0]), fact.place[1])
        for entry, answer in ordered
        if answer.status is not Status.NOT_APPLICABLE
        for fact in answer.facts
    ]
    return Check(
        id=identity,
        title=question.title,
        status=worst.status,
        required=(question.required and not worst.advises) or (question.fails and worst.status is Status.FAIL),
        weight=question.weight,
        expected=question.expected,
        actual="; ".join(
            f"entry {_named(entry, answer.emulated)}: {scrubber.text(answer.actual)}" for entry, answer in ordered
        ),
        evidence=tuple(
            Evidence(
                id=f"E-{identity}-{number}",
                kind=EvidenceClass.EMULATED if emulated else EvidenceClass.EXECUTED,
                summary=f"entry {_named(entry, emulated)}: {scrubber.text(text)}",
                path=path,
                line=line or None if path else None,
            )
            for number, (entry, emulated, text, path, line) in enumerate(facts, start=1)
        ),
        remedy=worst.remedy if worst.status is not Status.PASS else "",
    )


def _named(entry: int, emulated: bool) -> str:
    return f"{entry} (CUDA emulated)" if emulated else str(entry)


def _findings(entries: Iterable[Entry], sources: Sources, scrubber: Scrubber) -> list[Finding]:
    """One finding for each rule and place that the oracles blame, if the place lies in an audited file."""
    found: dict[tuple[str, str, int], Finding] = {}
    for entry in entries:
        for answer in entry.answers.values():
            for blame in answer.blames:
                path = scrubber.inside(blame.place[0])
                violation = blame.violation
                if path is not None and sources.get(path) is not None and violation is not None and violation in RULES:
                    finding = _finding(blame, violation, path, sources, scrubber, answer.emulated)
                    found.setdefault((finding.rule, path, finding.line), finding)
    return sorted(found.values(), key=lambda finding: finding.order)


def _finding(
    blame: Blame, violation: Violation, path: str, sources: Sources, scrubber: Scrubber, emulated: bool
) -> Finding:
    known, line = RULES[violation], blame.place[1]
    snippet = sources.line(path, line)
    run = "a run with CUDA emulated" if emulated else "a run"
    return Finding(
        rule=violation.value,
        name=violation.rule_name,
        path=path,
        line=line,
        column=1,
        end_line=line,
        severity=known.severity,
        certainty=Certainty.CERTAIN,
        message=f"seen in {run}: {scrubber.text(blame.message)}",
        fingerprint=fingerprint("oracle", violation, path, snippet),
        remedy=known.remedy,
        snippet=snippet,
        witnesses=(Witness.RUN,),
    )

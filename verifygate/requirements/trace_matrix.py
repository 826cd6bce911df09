"""The trace matrix: each requirement's queries put to the evidence, and the check that follows from the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from verifygate.model import Check, Evidence, EvidenceClass, QueryResult, RequirementResult, Severity, Status
from verifygate.requirements import code_answers, figures, reviews, run_answers, test_answers
from verifygate.requirements.facts import Answer, Cite, Facts, listed, together
from verifygate.requirements.queries import Query, QueryKind
from verifygate.requirements.spec import Requirement, Specification

WEIGHTS = {Severity.CRITICAL: 4, Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1, Severity.INFO: 1}
Row = tuple[RequirementResult, Check]
_TELLING_FIRST = (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL, Status.PASS)


def answered(query: Query, requirement: Requirement, facts: Facts) -> Answer:
    """Put one query of the requirement to the evidence."""
    match query.kind:
        case QueryKind.CONSTRUCT:
            return code_answers.construct(query, facts)
        case QueryKind.RULE:
            return code_answers.rule(query, facts)
        case QueryKind.TEST:
            return test_answers.named(query, facts)
        case QueryKind.MARKED_TESTS:
            assert query.marked_tests is not None  # noqa: S101 - the kind says so
            return test_answers.marked(requirement.id, query.marked_tests, facts)
        case QueryKind.RUN:
            return run_answers.run(query, facts)
        case QueryKind.MEASUREMENT:
            return figures.measurement(query, facts)
        case QueryKind.CHECK:
            return figures.check(query, facts)
        case QueryKind.REVIEW:
            return reviews.review(query, facts, suffices=requirement.review_suffices)


def trace(specification: Specification, facts: Facts) -> list[Row]:
    """One row and one check for each requirement, in the order of the specification."""
    traced = [_traced(requirement, specification, facts) for requirement in specification.spec.requirements]
    return hold_back_dependents(specification, [(each.row, _check(each)) for each in traced])


def hold_back_dependents(specification: Specification, rows: Sequence[Row]) -> list[Row]:
    """The rows, with every PASS lowered to PARTIAL that depends on a requirement which is no PASS."""
    found = {row.id: (row, check) for row, check in rows}
    depends = {each.id: each.depends for each in specification.spec.requirements}
    for identifier in TopologicalSorter(depends).static_order():
        if identifier not in found or found[identifier][0].status is not Status.PASS:
            continue
        status = {name: found[name][0].status if name in found else Status.NOT_MEASURED for name in depends[identifier]}
        unmet = [name for name, ended in status.items() if ended is not Status.PASS]
        if unmet:
            row, check = found[identifier]
            lowered = {"status": Status.PARTIAL, "remedy": f"meet {', '.join(unmet)}"}
            said = f"depends on {', '.join(f'{name} ({status[name]})' for name in unmet)}"
            found[identifier] = row.model_copy(update=lowered), check.model_copy(update={**lowered, "actual": said})
    return [found[row.id] for row, _ in rows]


@dataclass(frozen=True)
class _Traced:
    """A requirement with the answers to its queries, the most telling first."""

    requirement: Requirement
    row: RequirementResult
    telling: tuple[QueryResult, ...]
    held_back: str
    """Why it is no PASS although all its queries are; empty where they are not, or it is."""
    home: Cite


def _traced(requirement: Requirement, specification: Specification, facts: Facts) -> _Traced:
    pairs = [(query, answered(query, requirement, facts)) for query in requirement.verify]
    answers = [answer for _, answer in pairs]
    lines = specification.lines[requirement.id]
    queries: list[QueryResult] = []
    for position, (query, answer) in enumerate(pairs):
        asked = Cite(
            EvidenceClass.DECLARED, f"{requirement.id} asks for it here", specification.path, lines.queries[position]
        )
        cites = answer.cites if any(cite.path for cite in answer.cites) else (*answer.cites, asked)
        evidence = numbered(f"{requirement.id}:{position + 1}", cites)
        queries.append(QueryResult(query=query.words, status=answer.status, actual=answer.actual, evidence=evidence))
    status, held_back, advice = _settled(answers)
    telling = sorted(zip(queries, answers, strict=True), key=lambda pair: _TELLING_FIRST.index(pair[0].status))
    remedies = [answer.remedy for _, answer in telling if answer.status is not Status.PASS and answer.remedy]
    why_not, way_out = specification.as_written.get(requirement.id, ("", "add `verify:` queries to the requirement"))
    row = RequirementResult(
        id=requirement.id,
        title=requirement.title,
        text=requirement.text,
        severity=requirement.severity.value,
        group=requirement.group,
        revision=requirement.revision,
        status=status,
        queries=tuple(queries),
        code=_once(item for answer in answers for item in answer.code),
        tests=_once(
            (*(item for answer in answers for item in answer.tests), *test_answers.marking(requirement.id, facts))
        ),
        foreign=_once(
            (
                *(item for answer in answers for item in answer.foreign),
                *test_answers.told(facts.marked.get(requirement.id, ())),
            )
        ),
        measurements=_once(item for answer in answers for item in answer.measurements),
        remedy="; ".join(_once([*remedies, *advice])) if answers else way_out,
    )
    home = Cite(EvidenceClass.DECLARED, f"{requirement.id} stands here", specification.path, lines.requirement)
    return _Traced(requirement, row, tuple(result for result, _ in telling), held_back or why_not, home)


def _settled(answers: Sequence[Answer]) -> tuple[Status, str, list[str]]:
    """The row's status; why it is held back where its queries alone would let it PASS, and what to do about it."""
    status = together(answer.status for answer in answers)
    if status is not Status.PASS:
        return status, "", []
    if all(answer.declared for answer in answers):
        return (
            Status.PARTIAL,
            "declared only: nothing that was run or measured shows it",
            ["add a query that is run or measured, or waive it by name until a date"],
        )
    return status, "", []


def _check(traced: _Traced) -> Check:
    """The row as a check; what is wrong comes first, so that the first place cited is the one to look at."""
    row, telling = traced.row, traced.telling
    wrong = [result for result in telling if result.status is not Status.PASS]
    if wrong:
        actual = "; ".join(f"{result.query}: {result.actual}" for result in wrong)
    elif telling:
        actual = traced.held_back or f"{len(telling)} of {len(telling)} queries PASS"
    else:
        actual = traced.held_back or "no way to verify it is given"
    evidence = tuple(item for result in telling for item in result.evidence)
    return Check(
        id=f"requirements.{row.id}",
        title=f"{row.id} {row.title}",
        status=row.status,
        required=traced.requirement.required,
        weight=WEIGHTS[traced.requirement.severity],
        expected=row.text,
        actual=actual,
        measurement=next(iter(row.measurements), None),
        evidence=evidence or numbered(row.id, (traced.home,)),
        remedy=row.remedy,
    )


def unknown_ids(specification: Specification, facts: Facts) -> tuple[tuple[str, ...], Check]:
    """Ids that tests name and the specification does not: such a mark proves nothing for anybody."""
    found = test_answers.unknown({requirement.id for requirement in specification.spec.requirements}, facts)
    cites = tuple(
        Cite(
            test.kind,
            f"{test.id} is marked with {identifier}",
            test.source or test.outcome.path or None,
            1 if test.source else test.outcome.line or None,
        )
        for identifier, test in found.items()
    )
    return tuple(found), Check(
        id="requirements.unknown-ids",
        title="Tests name only requirements of the specification",
        status=Status.FAIL if found else Status.PASS,
        required=False,
        weight=0,
        expected="every id in a test's mark stands in the specification",
        actual=f"unknown: {listed(found)}" if found else "no unknown id",
        evidence=numbered("unknown-ids", cites),
        remedy="correct the mark, or add the requirement" if found else "",
    )


def numbered(name: str, cites: Iterable[Cite]) -> tuple[Evidence, ...]:
    """Facts as evidence, with ids that are unique within the report."""
    return tuple(
        Evidence(
            id=f"E-requirements-{name}:{number}", kind=cite.kind, summary=cite.summary, path=cite.path, line=cite.line
        )
        for number, cite in enumerate(cites, 1)
    )


def _once(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))

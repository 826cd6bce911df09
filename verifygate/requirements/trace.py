"""The trace matrix: each requirement's queries put to the evidence, and the check that follows from the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verifygate.model import Check, Evidence, EvidenceClass, QueryResult, RequirementResult, Severity, Status
from verifygate.requirements import code, figures, outcomes
from verifygate.requirements.facts import Answer, Cite, Facts, listed, together
from verifygate.requirements.spec import Query, QueryKind, Requirement, Specification

WEIGHTS = {Severity.CRITICAL: 4, Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1, Severity.INFO: 1}
_TELLING_FIRST = (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL, Status.PASS)


def answered(query: Query, identifier: str, facts: Facts) -> Answer:
    """Put one query of the requirement to the evidence."""
    match query.kind:
        case QueryKind.CONSTRUCT:
            return code.construct(query, facts)
        case QueryKind.RULE:
            return code.rule(query, facts)
        case QueryKind.TEST:
            return outcomes.named(query, facts)
        case QueryKind.MARKED_TESTS:
            assert query.marked_tests is not None  # noqa: S101 - the kind says so
            return outcomes.marked(identifier, query.marked_tests, facts)
        case QueryKind.MEASUREMENT:
            return figures.measurement(query, facts)
        case QueryKind.CHECK:
            return figures.check(query, facts)


def trace(specification: Specification, facts: Facts) -> list[tuple[RequirementResult, Check]]:
    """One row and one check for each requirement, in the order of the specification."""
    return [
        _row(requirement, index, specification, facts)
        for index, requirement in enumerate(specification.spec.requirements)
    ]


def _row(
    requirement: Requirement, index: int, specification: Specification, facts: Facts
) -> tuple[RequirementResult, Check]:
    pairs = [(query, answered(query, requirement.id, facts)) for query in requirement.verify]
    answers = [answer for _, answer in pairs]
    status = together(answer.status for answer in answers)
    queries: list[QueryResult] = []
    for position, (query, answer) in enumerate(pairs):
        line = specification.line("requirements", index, "verify", position)
        asked = Cite(EvidenceClass.DECLARED, f"{requirement.id} asks for it here", specification.path, line)
        cites = answer.cites if any(cite.path for cite in answer.cites) else (*answer.cites, asked)
        evidence = numbered(f"{requirement.id}:{position + 1}", cites)
        queries.append(QueryResult(query=query.words, status=answer.status, actual=answer.actual, evidence=evidence))
    telling = sorted(zip(queries, answers, strict=True), key=lambda pair: _TELLING_FIRST.index(pair[0].status))
    remedies = _once(answer.remedy for _, answer in telling if answer.status is not Status.PASS and answer.remedy)
    remedy = "; ".join(remedies) if answers else "add `verify:` queries to the requirement"
    row = RequirementResult(
        id=requirement.id,
        title=requirement.title,
        text=requirement.text,
        severity=requirement.severity.value,
        group=requirement.group,
        status=status,
        queries=tuple(queries),
        code=_once(item for answer in answers for item in answer.code),
        tests=_once((*(item for answer in answers for item in answer.tests), *outcomes.marking(requirement.id, facts))),
        measurements=_once(item for answer in answers for item in answer.measurements),
        remedy=remedy,
    )
    line = specification.line("requirements", index, "id")
    return row, _check(
        row,
        requirement,
        [result for result, _ in telling],
        Cite(EvidenceClass.DECLARED, f"{requirement.id} stands here", specification.path, line),
    )


def _check(row: RequirementResult, requirement: Requirement, telling: Sequence[QueryResult], home: Cite) -> Check:
    """The row as a check; what is wrong comes first, so that the first place cited is the one to look at."""
    wrong = [result for result in telling if result.status is not Status.PASS]
    if not telling:
        actual = "no way to verify it is given"
    elif wrong:
        actual = "; ".join(f"{result.query}: {result.actual}" for result in wrong)
    else:
        actual = f"{len(telling)} of {len(telling)} queries PASS"
    evidence = tuple(item for result in telling for item in result.evidence)
    return Check(
        id=f"requirements.{row.id}",
        title=f"{row.id} {row.title}",
        status=row.status,
        required=requirement.required,
        weight=WEIGHTS[requirement.severity],
        expected=row.text,
        actual=actual,
        measurement=next(iter(row.measurements), None),
        evidence=evidence or numbered(row.id, (home,)),
        remedy=row.remedy,
    )


def unknown_ids(specification: Specification, facts: Facts) -> tuple[tuple[str, ...], Check]:
    """Ids that tests name and the specification does not: such a mark proves nothing for anybody."""
    found = outcomes.unknown({requirement.id for requirement in specification.spec.requirements}, facts)
    cites = tuple(
        Cite(EvidenceClass.EXECUTED, f"{test.id} is marked with {identifier}", test.path or None, test.line or None)
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

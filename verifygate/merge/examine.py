"""Put every question of the merger to the stages' results, and let the stricter side win."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from verifygate.merge.absences import cells_against_code, code_that_ran
from verifygate.merge.citations import cited_places, sources_changed, trusted_changed
from verifygate.merge.completeness import answers_once, requirements_answered, rules_answered, tests_answered
from verifygate.merge.disagreements import (
    amp_without_source,
    breaches_not_read,
    clean_rule_broken_in_run,
    faults_that_ran_well,
    gates_counted,
    precision_not_run,
    requirements_better_than_answers,
)
from verifygate.merge.findings import merged
from verifygate.merge.inputs import Inputs, Results
from verifygate.merge.precision_seen import with_precision_seen
from verifygate.merge.recompute import cited_measurements, summaries
from verifygate.model import (
    Check,
    Contradiction,
    Evidence,
    EvidenceClass,
    RequirementResult,
    RequirementsDetails,
    StageResult,
    Status,
)
from verifygate.requirements import gates_check, hold_back_dependents, quality_gates

QUESTIONS: tuple[Callable[[Results, Inputs], Iterator[Contradiction]], ...] = (
    trusted_changed,
    sources_changed,
    summaries,
    cited_measurements,
    clean_rule_broken_in_run,
    requirements_better_than_answers,
    gates_counted,
    faults_that_ran_well,
    breaches_not_read,
    amp_without_source,
    code_that_ran,
    cells_against_code,
    precision_not_run,
    rules_answered,
    tests_answered,
    requirements_answered,
    answers_once,
    cited_places,
)
"""Worst first: the report prints the answers in this order."""
_STRICTER = (Status.PASS, Status.PARTIAL, Status.NOT_MEASURED, Status.FAIL)
MOST_PLACES = 20
"""Places that are not there which the report lists; a tree that changed meanwhile gives one for each."""


@dataclass(frozen=True)
class Examined:
    """The stages' results after the stricter side has won, and what they contradicted each other in."""

    stages: tuple[StageResult, ...]
    contradictions: tuple[Contradiction, ...]


def examined(stages: Sequence[StageResult], inputs: Inputs) -> Examined:
    """Join the results, ask every question, lower what a contradiction takes a better status from."""
    joined = with_precision_seen(merged(stages))
    found = tuple(contradictions(joined, inputs))
    lowered: dict[str, tuple[Status, Contradiction]] = {}
    for each in found:
        for name in each.lowers if each.to else ():
            if each.to and (name not in lowered or _worse(each.to, lowered[name][0])):
                lowered[name] = (each.to, each)
    cited = [each for each in found if each.name == "cited-place-missing"]
    kept = tuple(each for each in found if each not in cited[MOST_PLACES:])
    return Examined(tuple(_with_lowered(stage, lowered, inputs) for stage in joined), kept)


def contradictions(stages: Sequence[StageResult], inputs: Inputs) -> Iterable[Contradiction]:
    """What the results contradict each other in, each once."""
    results = Results(stages)
    return dict.fromkeys(each for question in QUESTIONS for each in question(results, inputs))


def _worse(one: Status, other: Status) -> bool:
    """Whether a status is stricter than another; what does not apply stays so."""
    return Status.NOT_APPLICABLE not in (one, other) and _STRICTER.index(one) > _STRICTER.index(other)


def _with_lowered(stage: StageResult, lowered: dict[str, tuple[Status, Contradiction]], inputs: Inputs) -> StageResult:
    checks = tuple(_lowered(check, lowered) for check in stage.checks)
    details = stage.details
    if isinstance(details, RequirementsDetails):
        rows = [_lowered_row(row, lowered) for row in details.requirements]
        details, checks = _counted_again(details.model_copy(update={"requirements": tuple(rows)}), checks, inputs)
    return stage.model_copy(update={"checks": checks, "details": details})


def _lowered(check: Check, lowered: dict[str, tuple[Status, Contradiction]]) -> Check:
    to, why = lowered.get(check.id, (check.status, None))
    if why is None or not _worse(to, check.status):
        return check
    said = f"{check.actual}; " if check.actual else ""
    update: dict[str, object] = {"status": to, "actual": f"{said}contradicted ({why.name}): {why.text}"}
    if why.path:
        place = Evidence(
            id=f"E-{check.id}-contradicted", kind=EvidenceClass.STATIC, summary=why.text, path=why.path, line=why.line
        )
        update["evidence"] = (place, *check.evidence)
    return check.model_copy(update=update | ({"remedy": why.action} if why.action else {}))


def _lowered_row(row: RequirementResult, lowered: dict[str, tuple[Status, Contradiction]]) -> RequirementResult:
    to, why = lowered.get(f"requirements.{row.id}", (row.status, None))
    return row.model_copy(update={"status": to}) if why and _worse(to, row.status) else row


def _counted_again(
    details: RequirementsDetails, checks: tuple[Check, ...], inputs: Inputs
) -> tuple[RequirementsDetails, tuple[Check, ...]]:
    """The matrix and its checks after rows were lowered: what depends on these goes with them, the gates count anew."""
    if inputs.specification is None:
        return details, checks
    of_rows = {check.id: check for check in checks}
    pairs = [(row, of_rows[name]) for row in details.requirements if (name := f"requirements.{row.id}") in of_rows]
    held = {row.id: (row, check) for row, check in hold_back_dependents(inputs.specification, pairs)}
    rows = tuple(held[row.id][0] if row.id in held else row for row in details.requirements)
    anew = {check.id: check for _, check in held.values()}
    gates = quality_gates(rows, details.calculations, inputs.specification.spec.gates)
    if gates != details.gates:
        anew |= {(check := gates_check(gates)).id: check}
    details = details.model_copy(update={"requirements": rows, "gates": gates})
    return details, tuple(anew.get(check.id, check) for check in checks)

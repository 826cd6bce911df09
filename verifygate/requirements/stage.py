"""The requirements stage: traces a specification to code, tests and measurements that the other stages found."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.model import (
    Calculation,
    Check,
    ForeignFile,
    Outcome,
    QualityGate,
    RequirementsDetails,
    StageResult,
    Status,
)
from verifygate.requirements.architecture import Comparison, compare
from verifygate.requirements.calculations import calculations
from verifygate.requirements.facts import Cite, Facts
from verifygate.requirements.foreign import read_foreign
from verifygate.requirements.gates import quality_gates
from verifygate.requirements.linked_rows import linked
from verifygate.requirements.lock import changed_since, lock_path, read_lock
from verifygate.requirements.precision_rows import asked_rows
from verifygate.requirements.read import read_specification
from verifygate.requirements.spec import Specification
from verifygate.requirements.trace_matrix import numbered, trace, unknown_ids
from verifygate.requirements.unmarked import told_together
from verifygate.sources import git
from verifygate.stage import StageContext, not_configured

ADVISORY = Check(
    id="requirements.advisory",
    title="The specification is in force",
    status=Status.PARTIAL,
    required=False,
    weight=0,
    expected="what it asks for blocks where it is not met",
    actual="it is advisory: what it asks for is traced, and none of it blocks",
    remedy="take `advisory: true` out of it once its requirements are traced",
)


class RequirementsStage:
    """Runs last, on the results of the stages before it; it starts nothing and reads only the specification."""

    name = "requirements"

    def run(self, context: StageContext) -> StageResult:
        """Trace every requirement. Raises UsageError where the specification cannot be meant as it stands."""
        path = context.settings.requirements.spec
        if not path:
            return not_configured(self.name, "name a YAML or TOML specification in [requirements] spec")
        specification = read_specification(context.settings.policy_folder, path)
        spec = specification.spec
        context.progress(f"tracing {len(spec.requirements)} requirements")
        paths = tuple(file.path for file in context.sources)
        foreign = read_foreign(context.settings.root, context.settings.requirements.junit)
        told = tuple(test for file in foreign for test in file.tests)
        facts = Facts(context.results, paths, context.settings.root, context.settings.today, told)
        lock = read_lock(context.settings.root, path)
        traced, coverage, link_checks = linked(
            specification, trace(specification, facts), facts, context.sources, lock, context.settings.root
        )
        if context.since:
            then = git.file_at(context.settings.root, context.since, lock_path(path))
            coverage = coverage.model_copy(update={"accepted_here": changed_since(lock, then)})
        traced, unmarked = told_together(specification, traced, facts)
        rows = tuple(row for row, _ in traced)
        compared = compare(spec.architecture, facts)
        worked_out = calculations(facts)
        gates = quality_gates(rows, worked_out, spec.gates)
        strangers, unknown = unknown_ids(specification, facts)
        precision = asked_rows(specification, facts)
        checks = [*(check for _, check in traced), *_architecture(compared), *(check for _, check in precision)]
        lacks = any(check.status is Status.FAIL for check in unmarked)
        checks = [*unmarked, *checks] if lacks else [*checks, *unmarked]  # what speaks for several rows stands first
        if spec.advisory:
            checks = [check.model_copy(update={"required": False}) for check in checks] + [ADVISORY]
        checks += [_calculations(worked_out), gates_check(gates), unknown, *link_checks]
        checks += [*_inherited(specification), *_foreign([each.file for each in foreign])]
        return StageResult(
            stage=self.name,
            outcome=Outcome.COMPLETED,
            checks=tuple(checks),
            details=RequirementsDetails(
                spec=path,
                extends=specification.extends,
                deviations=specification.deviations,
                requirements=rows,
                calculations=worked_out,
                gates=gates,
                architecture_expected=compared.expected,
                architecture_actual=compared.actual,
                architecture=compared.trees,
                coverage=coverage,
                foreign=tuple(each.file for each in foreign),
                precision=tuple(asked for asked, _ in precision),
                unknown_ids=strangers,
            ),
        )


def _architecture(compared: Comparison) -> tuple[Check, ...]:
    """The check on who drives mixed precision, where the specification asks for one."""
    answer = compared.answer
    if answer is None:
        return ()
    check = Check(
        id="requirements.architecture",
        title="Architecture: mixed precision is driven by whom the specification names",
        status=answer.status,
        weight=4,
        expected="; ".join(compared.expected),
        actual=answer.actual,
        evidence=numbered("architecture", answer.cites),
        remedy=answer.remedy,
    )
    return (check,)


def _calculations(lines: tuple[Calculation, ...]) -> Check:
    """A summary that its own samples contradict blocks, whether or not a requirement leans on it."""
    wrong = [f"{line.measurement}: {line.reason}" for line in lines if line.status is Status.FAIL]
    right = sum(1 for line in lines if line.status is Status.PASS)
    status = Status.FAIL if wrong else Status.PASS if right else Status.NOT_APPLICABLE
    return Check(
        id="requirements.calculations",
        title="Reported values follow from their samples",
        status=status,
        expected="every reported value can be worked out again from its raw samples",
        actual="; ".join(wrong) or f"{right} of {len(lines)} worked out again with the same result",
        remedy="measure again; never write a summary by hand" if wrong else "",
    )


def gates_check(gates: tuple[QualityGate, ...]) -> Check:
    """Makes a missed gate visible; it never blocks by itself, for its requirements do."""
    counting = [gate for gate in gates if gate.status is not Status.NOT_APPLICABLE]
    met = sum(1 for gate in counting if gate.status is Status.PASS)
    failed = [gate for gate in counting if gate.status is Status.FAIL]
    missed = [f"{gate.title} {gate.status} ({gate.actual})" for gate in counting if gate.status is not Status.PASS]
    open_gates = Status.NOT_MEASURED if missed else Status.PASS
    return Check(
        id="requirements.quality-gates",
        title="Quality gates",
        status=Status.FAIL if failed else open_gates,
        required=False,
        weight=0,
        expected=f"{len(counting)} of {len(counting)} gates met",
        actual="; ".join([f"{met} of {len(counting)} gates met", *missed]),
        remedy="meet the requirements named here" if missed else "",
    )


def _inherited(specification: Specification) -> tuple[Check, ...]:
    """Says in what the specification asks for less than the catalogue: visible, and up to the people who read it."""
    if not specification.extends:
        return ()
    loosened = [each for each in specification.deviations if each.direction == "loosened"]
    told = [f"{each.requirement}: {each.what}" for each in loosened]
    check = Check(
        id="requirements.inherited",
        title=f"The specification asks for all that {specification.extends} asks",
        status=Status.PARTIAL if loosened else Status.PASS,
        required=False,
        weight=0,
        expected=f"nothing of {specification.extends} is left out or loosened",
        actual="; ".join(told) or f"{len(specification.deviations)} tightened or reworded, none loosened",
        remedy="look at the reasons in the requirements report, and decide whether they hold" if loosened else "",
    )
    return (check,)


def _foreign(files: Sequence[ForeignFile]) -> tuple[Check, ...]:
    """Says what came from elsewhere, and which of it contradicts itself."""
    if not files:
        return ()
    wrong = [f"{file.path}: {file.problem}" for file in files if file.problem]
    check = Check(
        id="requirements.foreign-results",
        title="Results from elsewhere agree with themselves",
        status=Status.PARTIAL if wrong else Status.PASS,
        required=False,
        weight=0,
        expected="every suite holds as many tests as it says",
        actual="; ".join(wrong) or ", ".join(f"{file.tests} tests {file.kind} by {file.path}" for file in files),
        evidence=numbered("foreign-results", [Cite(file.kind, f"{file.tests} tests", file.path, 1) for file in files]),
        remedy="let the other runner write it again; until then its word is only declared" if wrong else "",
    )
    return (check,)

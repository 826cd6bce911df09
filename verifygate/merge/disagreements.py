"""What one stage says and another one saw otherwise. The stricter side counts; both are told.

A run shows what happened on one path, the source what may happen on any. So a run that went well takes nothing from a
finding of the source, and a source without a finding takes nothing from what a run showed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import zip_longest

from verifygate.merge.findings import DONE_BY
from verifygate.merge.inputs import Inputs, Results, named
from verifygate.model import Certainty, ConstructKind, Contradiction, Finding, QueryResult, Status, Witness
from verifygate.protocol import TRANSITIONS, Event, Violation
from verifygate.requirements import quality_gates

AT_ONCE = frozenset(
    row.fault.violation for row in TRANSITIONS if row.fault and row.fault.event is row.event
) - frozenset(row.fault.violation for row in TRANSITIONS if row.fault and row.fault.event is not row.event)
"""Rules whose violation shows at the statement at fault; that of any other shows at a later event."""
OF_A_SCALER = (Event.UNSCALE.value, Event.SCALER_STEP.value, Event.UPDATE.value)
_CODE = re.compile(r"\b[A-Z]{3,5}\d{3}\b")
_PRECISION = {"bf16": "bfloat16", "fp16": "float16"}


def faults_that_ran_well(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """`certain` by the source, on every path; and a recorded run went through it without the violation."""
    for stage, finding in results.findings:
        by_source = finding.certainty is Certainty.CERTAIN and finding.witnesses == (Witness.STATIC,)
        if by_source and _ran_well(finding, results):
            saw = (
                "saw the scaler updated"
                if finding.rule == Violation.MISSING_UPDATE
                else "passed here without the violation"
            )
            yield Contradiction(
                name="static-fault-not-seen-in-run",
                stages=(stage.stage, "execution"),
                text=f"{finding.rule} {finding.name} is certain by the source, and a recorded run {saw}",
                stands="the finding: the run went one way, the source shows every way",
                path=finding.path,
                line=finding.line,
                action=f"correct it, or suppress {finding.rule} here with the reason why the source misleads",
            )


def _ran_well(finding: Finding, results: Results) -> bool:
    """Whether a run was at the statement in a known state, and often enough for the violation to show."""
    visits = [visit for trace in results.traces for visit in trace.visits]
    here = [visit for visit in visits if visit.path == finding.path]
    times = sum(
        visit.times
        for visit in here
        if finding.line <= visit.line <= finding.end_line and visit.event in DONE_BY.get(finding.rule, ())
    )
    if finding.rule == Violation.MISSING_UPDATE:
        return times > 0 and any(visit.event == Event.UPDATE for visit in here)
    return times > (0 if finding.rule in AT_ONCE else 1)


def breaches_not_read(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """A run broke a rule that the source stage ran, followed all of the file for, and found nothing of there."""
    static = results.static
    if static is None:
        return
    unsure = {each.path for each in static.not_followed if not each.rule}
    unsure |= {each.path for each in static.not_analysed}
    for stage, finding in results.findings:
        if finding.witnesses != (Witness.RUN,) or finding.rule not in static.rules or finding.path in unsure:
            continue
        if finding.certainty is Certainty.CERTAIN and inputs.sources.get(finding.path) is not None:
            yield Contradiction(
                name="run-violation-not-seen-in-source",
                stages=("static", stage.stage),
                text=f"{finding.rule} {finding.name} happened in a run, and the source stage found no violation here",
                stands="the finding: it happened",
                path=finding.path,
                line=finding.line,
                action=finding.remedy,
            )


def amp_without_source(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """The source stage found no AMP anywhere, and a run stepped through a live scaler from audited code."""
    static = results.static
    if static is None or static.not_analysed:
        return
    own = [each for each in static.constructs if (file := inputs.sources.get(each.path)) and not file.is_test]
    if own or any(each.kind is ConstructKind.DELEGATED for each in static.constructs):
        return
    for trace in results.traces:
        for visit in trace.visits:
            file = inputs.sources.get(visit.path)
            if file is not None and not file.is_test and visit.event in OF_A_SCALER:
                yield Contradiction(
                    name="amp-not-found-in-source",
                    stages=("static", "execution"),
                    text="no AMP code was found in the audited sources, and a recorded run used a live scaler here",
                    stands="the run: the rules that found nothing looked at nothing",
                    lowers=("static.analysed",),
                    to=Status.PARTIAL,
                    path=visit.path,
                    line=visit.line,
                    action="name the code that does it in `[project] sources`, or waive `static.analysed`",
                )
                return


def clean_rule_broken_in_run(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """A requirement that is PASS because a rule found nothing, and a run that broke that rule."""
    broken = [each for _, each in results.findings if each.certainty is Certainty.CERTAIN]
    for row in results.rows:
        for query in row.queries if row.status is Status.PASS else ():
            if found := next((each for each in broken if _asks_for(query, each)), None):
                yield Contradiction(
                    name="requirement-against-finding",
                    stages=("requirements", "execution" if Witness.RUN in found.witnesses else "static"),
                    text=f"{row.id} is PASS by `{query.query}`, and {found.rule} was broken here",
                    stands="the finding: the requirement fails",
                    lowers=(f"requirements.{row.id}",),
                    to=Status.FAIL,
                    path=found.path,
                    line=found.line,
                    action=found.remedy,
                )
                break


def _asks_for(query: QueryResult, finding: Finding) -> bool:
    """Whether a query that passes rests on the rule that the finding is of, in a scope that holds the finding."""
    if query.status is not Status.PASS or finding.rule not in _CODE.findall(query.query):
        return False
    scope = re.search(r" in (\S+)$", query.query)
    return scope is None or fnmatchcase(finding.path, scope[1])


def precision_not_run(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """Performance was measured in one precision, and every recorded run computed in others."""
    seen = {device.rpartition(" ")[2] for trace in results.traces for device in trace.devices}
    performance = results.stage("performance")
    if performance is None or not seen & set(_PRECISION.values()):
        return
    arms = {arm.name for item in performance.measurements for arm in item.arms if arm.samples}
    if strange := sorted(name for name in arms & _PRECISION.keys() if _PRECISION[name] not in seen):
        yield Contradiction(
            name="precision-not-run",
            stages=("performance", "execution"),
            text=f"{named(strange)} was measured, and the recorded runs computed in {named(sorted(seen))} only",
            stands="each for its own precision: the tests prove nothing of the one that was measured",
            action=f"let a test train in {named(strange)}, or set `performance.precision` to what the tests run",
        )


def requirements_better_than_answers(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """A requirement that is PASS although one of its queries is not, or although nothing but words speaks for it."""
    for row in results.rows:
        check = results.checks.get(f"requirements.{row.id}")
        problem, to = "", Status.NOT_MEASURED
        worst = [query for query in row.queries if query.status in (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL)]
        declared = [query for query in row.queries if _only_words(query)]
        if row.status is Status.PASS and worst:
            problem, to = f"PASS, and its query `{worst[0].query}` is {worst[0].status}", worst[0].status
        elif row.status is Status.PASS and declared and len(declared) == len(row.queries):
            problem = f"PASS, and all that speaks for it is words: {declared[0].evidence[0].kind}"
        elif check is not None and check.status is Status.PASS and row.status is not Status.PASS:
            problem, to = f"{row.status} in the matrix, and its check is PASS", row.status
        if problem:
            yield Contradiction(
                name="requirement-better-than-evidence",
                stages=("requirements",),
                text=f"{row.id} is {problem}",
                stands="the evidence",
                lowers=(f"requirements.{row.id}",),
                to=to,
                action=row.remedy,
            )


def gates_counted(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """Whether each quality gate counts what the matrix below it holds: one table has one score."""
    details = results.requirements
    if details is None or inputs.specification is None:
        return
    again = quality_gates(details.requirements, details.calculations, inputs.specification.spec.gates)
    for told, counted in zip_longest(details.gates, again):
        if told != counted:
            first, second = (f"{each.actual} {each.status}" if each else "nothing" for each in (told, counted))
            yield Contradiction(
                name="two-scores-for-one-table",
                stages=("requirements",),
                text=f"{(told or again[0]).title}: reported as {first}, and the rows make {second}",
                stands="the rows",
                blocks=True,
                action="report this: a gate must count its rows",
            )


def _only_words(query: QueryResult) -> bool:
    return bool(query.evidence) and not any(each.kind.satisfies for each in query.evidence)

"""What the readers of a report ask of it, answered once for all formats. Nothing here decides anything."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from verifygate.base.counts import counted
from verifygate.model import (
    ISOLATION,
    ISOLATION_BY_DEFAULT,
    Background,
    Certainty,
    Check,
    Evidence,
    ExecutionDetails,
    Finding,
    Measurement,
    Outcome,
    PerformanceDetails,
    PolicySetting,
    Program,
    Reason,
    Report,
    RequirementResult,
    RequirementsDetails,
    ScorePart,
    Severity,
    StageResult,
    StaticDetails,
    Status,
    Verdict,
    Waiver,
    WaiverState,
)
from verifygate.model.precision_contract import Aspect
from verifygate.report.contract import ContractInWords
from verifygate.report.phrases import words
from verifygate.report.quantities import points, reading
from verifygate.stage_registry import STAGES

MOST_TOLD = 5
"""Checks of a stage that nobody requires and that are told singly where they are not green."""


@dataclass(frozen=True)
class Asked:
    """A check with the stage that asked it."""

    stage: str
    check: Check


class Checks(NamedTuple):
    """The checks of a stage, as its page tells them."""

    open: list[Check]
    """Each with its row: those that are required first."""
    passed: list[Check]
    idle: list[Check]
    """With nothing to look at."""
    found: list[Check]
    """Not passed because of findings, which are told by themselves."""


class View:
    """A report, read for printing."""

    def __init__(self, report: Report) -> None:
        self.report = report

    # --- verdict

    @cached_property
    def scope(self) -> str:
        """What a verdict is about, where that is not every stage: `static only`, `execution and static only`."""
        ran = [stage.stage for stage in self.report.stages if stage.outcome is Outcome.COMPLETED]
        if not ran or len(ran) == len(STAGES):
            return ""
        return f"{words(ran)} only"

    @property
    def verdict_in_words(self) -> str:
        """The verdict; a PASS with what it is about: `PASS (static only)`."""
        told = self.report.verdict.value
        return f"{told} ({self.scope})" if self.scope and self.report.verdict is Verdict.PASS else told

    @property
    def scored(self) -> str:
        """`score 91.07 of 100.00`, or that there is none."""
        return "not scored" if self.report.score is None else f"score {points(self.report.score)} of 100.00"

    # --- stages

    def stage(self, name: str) -> StageResult | None:
        return next((stage for stage in self.report.stages if stage.stage == name), None)

    @property
    def execution(self) -> ExecutionDetails:
        stage = self.stage("execution")
        return stage.details if stage and isinstance(stage.details, ExecutionDetails) else ExecutionDetails()

    @property
    def static(self) -> StaticDetails:
        stage = self.stage("static")
        return stage.details if stage and isinstance(stage.details, StaticDetails) else StaticDetails()

    @property
    def requirements(self) -> RequirementsDetails:
        stage = self.stage("requirements")
        return stage.details if stage and isinstance(stage.details, RequirementsDetails) else RequirementsDetails()

    @property
    def performance(self) -> PerformanceDetails:
        stage = self.stage("performance")
        return stage.details if stage and isinstance(stage.details, PerformanceDetails) else PerformanceDetails()

    # --- reasons

    def reasons_of(self, stage: str) -> list[Reason]:
        """What of one stage blocks."""
        return [reason for reason in self.report.reasons if reason.stage == stage]

    # --- the precision contract

    @cached_property
    def contract(self) -> ContractInWords:
        """Who drives mixed precision, and the declared and seen dtypes, in words."""
        return ContractInWords(self.static.contract)

    # --- findings

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all stages, worst first; one that two stages report stands here once."""
        every = sorted((f for stage in self.report.stages for f in stage.findings), key=lambda f: f.order)
        first = {(f.rule, f.path, f.line, f.column, f.fingerprint): f for f in reversed(every)}
        return tuple(sorted(first.values(), key=lambda f: f.order))

    def impact(self, rule: str) -> str:
        """What the violation of this rule does to a training, in one sentence; empty where its rule does not say."""
        return next((each.text for each in self.report.impacts if each.rule == rule), "")

    @cached_property
    def _backgrounds(self) -> dict[str, Background]:
        return {each.fingerprint: each for each in self.report.backgrounds}

    def background(self, finding: Finding) -> Background:
        """The code around a finding, and its fix; empty where the report does not hold them."""
        return self._backgrounds.get(finding.fingerprint) or Background(fingerprint=finding.fingerprint)

    @cached_property
    def _by_fingerprint(self) -> dict[str, Finding]:
        return {each: finding for finding in self.findings for each in finding.fingerprints}

    def finding_of(self, reason: Reason) -> Finding | None:
        """The finding that a reason is about."""
        return self._by_fingerprint.get(reason.finding) if reason.finding else None

    @cached_property
    def beside(self) -> tuple[Finding, ...]:
        """The findings that do not block: those of a change before those that stood."""
        blocking = {id(finding) for reason in self.report.reasons if (finding := self.finding_of(reason))}
        found = (finding for finding in self.findings if id(finding) not in blocking)
        return tuple(sorted(found, key=self.stood))

    def stood(self, finding: Finding) -> bool:
        """Whether a finding was so before the change that the report is about."""
        return self.report.changes is not None and finding in self.report.changes.open

    @property
    def grave(self) -> list[Finding]:
        """The critical and high findings of all stages: those that tests should have caught."""
        return [finding for finding in self.findings if finding.severity in (Severity.CRITICAL, Severity.HIGH)]

    @property
    def spared(self) -> list[Finding]:
        """On a PASS: critical and high findings that are certain, and stood at the revision that was asked for."""
        if self.report.verdict is not Verdict.PASS or self.report.changes is None:
            return []
        stood = {finding.fingerprint for finding in self.report.changes.open}
        return [f for f in self.grave if f.certainty is Certainty.CERTAIN and f.fingerprint in stood]

    def by_severity(self, findings: Iterable[Finding], most: int | None = None) -> list[tuple[Severity, list[Finding]]]:
        """The severities that occur, worst first, each with its findings; the worst `most` findings of all."""
        found = sorted(findings, key=lambda f: f.order)[:most]
        groups = ((severity, [f for f in found if f.severity is severity]) for severity in Severity)
        return [(severity, group) for severity, group in groups if group]

    def after(self, findings: Iterable[Finding], most: int) -> list[Finding]:
        """What `by_severity` leaves out: all but the worst `most`."""
        return sorted(findings, key=lambda f: f.order)[most:]

    def count_of(self, findings: Iterable[Finding], severity: str) -> int:
        return sum(1 for finding in findings if finding.severity == severity)

    def count(self, stage: StageResult, severity: str) -> int:
        return self.count_of(stage.findings, severity)

    # --- requirements

    @property
    def requirements_by_need(self) -> list[RequirementResult]:
        """Those that are not verified first."""
        return sorted(self.requirements.requirements, key=lambda each: each.status is Status.PASS)

    def events(self, requirement: RequirementResult) -> list[str]:
        """What recorded runs did in the code that the requirement is linked to: `clip train.py:88`."""
        traces = (self.execution.trace, self.execution.emulated_trace)
        visits = {(visit.path, visit.line, visit.event) for trace in traces if trace for visit in trace.visits}
        linked = [link for link in requirement.links if link.role == "code" and link.by]
        inside = [
            visit
            for visit in sorted(visits)
            if any(visit[0] == link.path and link.line <= visit[1] <= link.end_line for link in linked)
        ]
        return [f"{event} {path}:{line}" for path, line, event in inside]

    # --- checks

    @cached_property
    def checks(self) -> tuple[Asked, ...]:
        return tuple(Asked(stage.stage, check) for stage in self.report.stages for check in stage.checks)

    def checks_of(self, stage: StageResult | None, told: Collection[str] = ()) -> Checks:
        """The checks of a stage but for those that the page tells elsewhere."""
        every = [check for check in (stage.checks if stage else ()) if check.id not in told]
        passed = [check for check in every if check.status is Status.PASS]
        idle = [check for check in every if check.status is Status.NOT_APPLICABLE]
        found = [check for check in every if check not in passed and check.id in self.told_by_findings]
        rest = [check for check in every if check not in passed and check not in idle and check not in found]
        return Checks(sorted(rest, key=lambda check: not check.required), passed, idle, found)

    @cached_property
    def told_by_findings(self) -> frozenset[str]:
        """Ids of the checks of which the findings tell all: the rule's own, and such as cite nothing else.

        A required check is told by itself, whatever it cites.

        What was suppressed would be seen nowhere else, so that check is told by itself.
        """
        silenced = {f"static.{each.rule}" for each in self.static.suppressions}
        rules = {f"static.{finding.rule}" for finding in self.findings}
        by_evidence = {
            asked.check.id
            for asked in self.checks
            if not asked.check.required
            and asked.check.id not in rules
            and asked.check.status in (Status.FAIL, Status.PARTIAL)
            and asked.check.evidence
            and all(self._is_finding(each) for each in asked.check.evidence)
        }
        return frozenset(rules | by_evidence) - silenced

    def _is_finding(self, evidence: Evidence) -> bool:
        """Whether the place that it cites is one of a finding, which its summary names."""
        path, line = evidence.path, evidence.line
        if not path or line is None:
            return False
        return any(f.rule in evidence.summary and f.is_at(path, line) for f in self.findings)

    def not_measured_in(self, stage: StageResult) -> int:
        return sum(1 for check in stage.checks if check.status is Status.NOT_MEASURED)

    @property
    def not_run(self) -> list[StageResult]:
        """Stages that errored or had nothing to go on."""
        return [stage for stage in self.report.stages if stage.outcome is not Outcome.COMPLETED]

    @property
    def not_asked(self) -> list[str]:
        """Stages that this run was not told to run."""
        present = {stage.stage for stage in self.report.stages}
        return [name for name in STAGES if name not in present]

    @property
    def own_policy(self) -> list[PolicySetting]:
        """Where the project does not judge by the default policy: nobody may take that for the usual PASS."""
        return [each for each in self.report.policy if not each.is_default]

    def in_full(self, parts: Sequence[ScorePart]) -> list[ScorePart]:
        """The parts that earned all they could: one row for all of them tells as much."""
        return [part for part in parts if part.earned == part.possible]

    def waiver(self, check: Check) -> Waiver | None:
        """The waiver in force that covers this check, where there is something to cover."""
        if check.status not in (Status.PARTIAL, Status.NOT_MEASURED):
            return None
        in_force = (use.waiver for use in self.report.waivers if use.state is WaiverState.IN_FORCE)
        return next((waiver for waiver in in_force if check.id in waiver.checks), None)

    @property
    def without_amp(self) -> str:
        """That there was no AMP code to audit, where the source stage found none: the wrong folder passes as well."""
        stage = self.stage("static")
        if stage is None or stage.outcome is Outcome.ERRORED or self.static.constructs:
            return ""
        driver = self.static.contract.row(Aspect.DRIVER)
        known = driver.declared if driver is not None else ()  # also what only a run through a model shows
        if self.static.configurations or any(not each.value.startswith("nobody") for each in known):
            return ""
        files = counted(self.static.files_checked, "file")
        return f"no AMP code was found in {files}: are these the sources that train?"

    @property
    def untrained(self) -> str:
        """That no training step was executed, where the stage that runs code was asked and there is AMP code to run."""
        stage = self.stage("execution")
        if stage is None or self.without_amp:
            return ""
        steps = 0
        if isinstance(stage.details, ExecutionDetails):
            traces = (stage.details.trace, stage.details.emulated_trace)
            steps += sum(trace.steps for trace in traces if trace is not None)
            steps += sum(each.low_precision is not None for each in stage.details.half_precision or ())
        return "" if steps else "No training step was executed: what is said here is about the source text alone"

    @property
    def started(self) -> tuple[Program, ...]:
        """The programs that were found, and run because `--entries found` asked for it."""
        stage = self.stage("execution")
        details = stage.details if stage is not None else None
        entries = details.oracle_entries if isinstance(details, ExecutionDetails) else ()
        return tuple(each for each in self.report.programs if each.command in entries)

    @property
    def candidate(self) -> Program | None:
        """The best of the programs that were found, where nothing trained and none was started."""
        return self.report.programs[0] if self.report.programs and self.untrained and not self.started else None

    @property
    def what_trains(self) -> str:
        """What was found that trains, where no training step was executed: a program, or functions without one."""
        if (best := self.candidate) is not None:
            more = len(self.report.programs) - 1
            others = f", and {counted(more, 'other program')}" if more else ""
            return f"{best.command} trains ({best.path}:{best.line}){others}; nothing was started: nobody named it"
        if functions := self.report.training_functions:
            one = len(functions) == 1
            return f"{words(functions)} {'trains' if one else 'train'}; no program that comes to it was found"
        return ""

    @property
    def how_to_train(self) -> str:
        """What makes a training step run, where none did and something that trains was found; empty elsewhere."""
        if (best := self.candidate) is not None:
            setting = f"`[execution.oracles] {best.setting} = [{json.dumps(best.command, ensure_ascii=False)}]`"
            if best.runs:
                return f"run the program that trains: `verifygate run --entries found`, or name it: {setting}"
            lacking = "; ".join(best.obstacles)
            return f"give the program that trains what it lacks ({lacking}), and name it: {setting}"
        if functions := self.report.training_functions:
            entry = "name it in `[execution.oracles] entries`"
            return f"write a test or a small program that calls {functions[0]}, and {entry}"
        return ""

    @property
    def isolation(self) -> str:
        """How far the project's processes were kept away from the machine."""
        stage = self.stage("execution")
        by_default = stage.environment.get(ISOLATION_BY_DEFAULT, "") if stage else ""
        return self.asked_isolation or by_default

    @property
    def asked_isolation(self) -> str:
        """The same, where the configuration or the command line asked for it."""
        stage = self.stage("execution")
        return stage.environment.get(ISOLATION, "") if stage else ""

    @property
    def kept(self) -> str:
        """Which stages did not run, and since when their results are kept; empty where all ran."""
        kept = [f"{stage.stage} from {stage.kept}" for stage in self.report.stages if stage.kept]
        said = (
            "not run again, because nothing that the project's programs can read has changed since (`--fresh` runs all)"
        )
        return f"{', '.join(kept)}: {said}" if kept else ""

    @property
    def left_open(self) -> list[Asked]:
        """What a PASS does not show: checks that are not green and do not block, those that a waiver covers first.

        What a rule found is counted with the findings; what was suppressed would be seen nowhere else.
        """
        every = [Asked(stage.stage, check) for stage in self.report.stages for check in self.recommended(stage)]
        wanting = [asked for asked in every if asked.check.id not in self.told_by_findings]
        rank = (Status.FAIL, Status.PARTIAL, Status.NOT_MEASURED)
        return sorted(wanting, key=lambda asked: (not asked.check.required, rank.index(asked.check.status)))

    @cached_property
    def gathered(self) -> dict[str, list[Asked]]:
        """What of `left_open` is told in one line for its stage, whose page has it: what nobody requires, if much.

        An advisory specification of which nothing is traced yet would be twenty lines that say the same.
        """
        by_stage: dict[str, list[Asked]] = {}
        for asked in self.left_open:
            if not asked.check.required:
                by_stage.setdefault(asked.stage, []).append(asked)
        return {stage: checks for stage, checks in by_stage.items() if len(checks) > MOST_TOLD}

    @property
    def left_singly(self) -> list[Asked]:
        """What of `left_open` is told with its answer."""
        gathered = {asked.check.id for checks in self.gathered.values() for asked in checks}
        return [asked for asked in self.left_open if asked.check.id not in gathered]

    @property
    def is_anything_open(self) -> bool:
        """Whether there is something that this report does not show."""
        return bool(self.left_open or self.not_run or self.not_asked)

    def recommended(self, stage: StageResult | None) -> list[Check]:
        """The checks that leave something to do and do not block."""
        wanting = (c for c in (stage.checks if stage else ()) if c.status not in (Status.PASS, Status.NOT_APPLICABLE))
        return [check for check in wanting if not check.required or check.inherited or self.waiver(check)]

    # --- measurements

    @cached_property
    def _measurements(self) -> dict[str, Measurement]:
        return {m.id: m for stage in self.report.stages for m in stage.measurements}

    def actual(self, check: Check) -> str:
        """The check's answer in words, followed by the measured number where there is one."""
        measurement = self._measurements.get(check.measurement or "")
        if measurement is None or (measurement.value is None and check.actual):
            return check.actual
        number = reading(measurement)
        return f"{check.actual}: {number}" if check.actual else number

    def said(self, reason: Reason) -> str:
        """The reason's words, followed by the number that its check measured."""
        check = next((asked.check for asked in self.checks if reason.check and asked.check.id == reason.check), None)
        measurement = self._measurements.get(check.measurement or "") if check else None
        if measurement is None or measurement.value is None:
            return reason.text
        return f"{reason.text}; measured: {reading(measurement)}"

    def reading_of(self, measurement: str | None) -> str:
        """The measured number behind an id; empty where there is no such measurement."""
        found = self._measurements.get(measurement or "")
        return reading(found) if found else ""

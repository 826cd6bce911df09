"""What the readers of a report ask of it, answered once for all formats. Nothing here decides anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from statistics import median
from types import MappingProxyType
from typing import Any

from verifygate.base.counts import counted
from verifygate.model import (
    Arm,
    Certainty,
    Check,
    Construct,
    ExecutionDetails,
    Finding,
    Link,
    LinkState,
    Measurement,
    Outcome,
    PerformanceDetails,
    PolicyOrigin,
    PolicySetting,
    PolicyState,
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
from verifygate.report.phrases import tally
from verifygate.report.trees import as_mermaid, as_text
from verifygate.stage_registry import STAGES

_BARS = "▁▂▃▄▅▆▇█"
_MAX_BARS = 60
_TOPICS = {  # words in the name of a metric; the first topic that has one takes the measurement
    "Throughput": ("throughput",),
    "Effective steps": ("effective", "trained"),
    "Bottlenecks": ("data-wait", "host-waits", "low-precision", "device-busy"),
    "Step time": ("speedup", "step"),
    "Memory": ("memory", "bytes"),
    "Accuracy": ("accuracy", "loss"),
}
OTHER_TOPIC = "Other"


@dataclass(frozen=True)
class Asked:
    """A check with the stage that asked it."""

    stage: str
    check: Check


class View:
    """A report, read for printing."""

    def __init__(self, report: Report) -> None:
        self.report = report

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

    # --- findings

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all stages, worst first; one that two stages report stands here once."""
        every = sorted((f for stage in self.report.stages for f in stage.findings), key=lambda f: f.order)
        first = {(f.rule, f.path, f.line, f.column, f.fingerprint): f for f in reversed(every)}
        return tuple(sorted(first.values(), key=lambda f: f.order))

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

    def count_of(self, findings: Iterable[Finding], severity: str) -> int:
        return sum(1 for finding in findings if finding.severity == severity)

    def count(self, stage: StageResult, severity: str) -> int:
        return self.count_of(stage.findings, severity)

    # --- requirements

    @property
    def suspect(self) -> list[RequirementResult]:
        return [requirement for requirement in self.requirements.requirements if requirement.suspect]

    @property
    def moved(self) -> list[Link]:
        every = (link for requirement in self.requirements.requirements for link in requirement.links)
        return [link for link in every if link.state is LinkState.MOVED]

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

    @property
    def not_measured(self) -> list[Asked]:
        return [asked for asked in self.checks if asked.check.status is Status.NOT_MEASURED]

    def passed(self, stage: StageResult) -> list[Check]:
        """The checks that a reader with little time can skip."""
        return [check for check in stage.checks if check.status is Status.PASS]

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
        if stage is None or stage.outcome is not Outcome.COMPLETED or self.static.constructs:
            return ""
        files = counted(self.static.files_checked, "file")
        return f"no AMP code was found in {files}: are these the sources that train?"

    @property
    def left_open(self) -> list[Asked]:
        """What a PASS does not show: checks that are not green and do not block, those that a waiver covers first.

        What a rule found is counted with the findings; what was suppressed would be seen nowhere else.
        """
        silenced = {each.rule for each in self.static.suppressions}
        found = {f"static.{finding.rule}" for finding in self.findings if finding.rule not in silenced}
        every = [Asked(stage.stage, check) for stage in self.report.stages for check in self.recommended(stage)]
        wanting = [asked for asked in every if asked.check.id not in found]
        rank = (Status.FAIL, Status.PARTIAL, Status.NOT_MEASURED)
        return sorted(wanting, key=lambda asked: (not asked.check.required, rank.index(asked.check.status)))

    def recommended(self, stage: StageResult | None) -> list[Check]:
        """The checks that leave something to do and do not block."""
        wanting = (c for c in (stage.checks if stage else ()) if c.status not in (Status.PASS, Status.NOT_APPLICABLE))
        return [check for check in wanting if not check.required or self.waiver(check)]

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

    def targets(self, stage: StageResult) -> list[Measurement]:
        return [m for m in stage.measurements if m.target]

    def topic(self, stage: StageResult | None, title: str) -> list[Measurement]:
        """The measurements about one thing; each belongs to exactly one topic."""
        return [m for m in stage.measurements if _topic(m) == title] if stage else []


def _topic(measurement: Measurement) -> str:
    about = measurement.metric
    return next((title for title, marks in _TOPICS.items() if any(mark in about for mark in marks)), OTHER_TOPIC)


def reading(measurement: Measurement) -> str:
    """Value, interval, number of samples, device and class of the evidence, in one line."""
    if measurement.value is None:
        return f"not measured: {measurement.reason}" if measurement.reason else "not measured"
    text = amount(measurement)
    if measurement.low is not None and measurement.high is not None:
        text += f" (95 % interval {interval(measurement)})"
    counts = samples(measurement)
    return ", ".join(part for part in (text, counts, f"on {measurement.device}", measurement.kind.value) if part)


def samples(measurement: Measurement) -> str:
    """How many samples the number rests on; empty where the measurement has no arms."""
    counts = [arm.n for arm in measurement.arms]
    if not counts:
        return ""
    if len(set(counts)) == 1:
        return f"n = {counts[0]}" + (" per arm" if len(counts) > 1 else "")
    return "n = " + ", ".join(f"{arm.n} {arm.name}" for arm in measurement.arms)


def number(value: float) -> str:
    """Four significant digits, with no exponent for the sizes that people read."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    return "not timed" if value is None else f"{value:.2f} s"


def spread(arm: Arm) -> tuple[str, str, str]:
    """Least, median and greatest sample."""
    if not arm.samples:
        return ("not kept", "not kept", "not kept")
    return (number(min(arm.samples)), number(median(arm.samples)), number(max(arm.samples)))


def bars(arm: Arm) -> str:
    """The samples in the order in which they were taken, from the least (a low bar) to the greatest."""
    if not arm.samples:
        return "no samples kept"
    step = -(-len(arm.samples) // _MAX_BARS)
    shown = [max(arm.samples[index : index + step]) for index in range(0, len(arm.samples), step)]
    low, high = min(arm.samples), max(arm.samples)
    span = (high - low) or 1.0
    return "".join(_BARS[round((sample - low) / span * (len(_BARS) - 1))] for sample in shown)


def origin_words(origin: PolicyOrigin) -> str:
    """Whose policy is in force, and whether the change under review would have another."""
    at = f"{origin.commit[:12]} ({origin.asked})"
    number = counted(len(origin.differences), "difference")
    if origin.state is PolicyState.ACCEPTED:
        return f"that of this change, by --accept-policy, with {number} from {at}"
    if not origin.config:
        at += ", which has no configuration: the default policy"
    if not origin.differences:
        return f"that of {at}; this change alters nothing in it"
    return f"that of {at}; this change alters it ({number}), which is not in force before it is merged"


def amount(measurement: Measurement) -> str:
    return "not measured" if measurement.value is None else quantity(measurement.value, measurement.unit)


def quantity(value: float, unit: str) -> str:
    """Number and unit; bytes in the unit that people read."""
    if unit == "B":
        big = next((size for size in (2**30, 2**20, 2**10) if abs(value) >= size), 1)
        value, unit = value / big, {2**30: "GiB", 2**20: "MiB", 2**10: "KiB", 1: "B"}[big]
    return f"{number(value)} {unit}".strip()


def interval(measurement: Measurement) -> str:
    if measurement.low is None:
        return "none"
    if measurement.high is None:
        return f"at least {number(measurement.low)}"
    return f"{number(measurement.low)} to {number(measurement.high)}"


def plot(measurement: Measurement) -> str:
    """A line of bars for each arm, with its least and greatest sample."""
    width = max((len(arm.name) for arm in measurement.arms), default=0)
    rows = ((arm, spread(arm)) for arm in measurement.arms)
    return "\n".join(f"{arm.name:{width}}  {bars(arm)}  {low} to {high} {arm.unit}" for arm, (low, _, high) in rows)


def kinds(constructs: Sequence[Construct]) -> str:
    """`2 autocast, 1 grad-scaler`: how often each kind occurs, in the order of the source."""
    return ", ".join(f"{count} {kind}" for kind, count in Counter(c.kind.value for c in constructs).items())


def words(values: Iterable[str]) -> str:
    """`a, b and c`."""
    *most, last = list(values) or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def points(value: Decimal | None) -> str:
    return "not scored" if value is None else f"{value:.2f}"


def possible(parts: Iterable[ScorePart]) -> Decimal:
    return sum((part.possible for part in parts), Decimal("0.00"))


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "amount": amount,
        "asked": lambda mutants, witness: sum(witness in mutant.asked for mutant in mutants),
        "counted": counted,
        "interval": interval,
        "join_words": " ".join,
        "joined": lambda values: ", ".join(f"{value:,}" for value in values),
        "kinds": kinds,
        "mermaid": lambda trees: as_mermaid(("expected", trees.expected), ("actual", trees.actual)),
        "number": number,
        "noticed_by": lambda mutants, witness: sum(mutant.noticed_by(witness) for mutant in mutants),
        "origin_words": origin_words,
        "plot": plot,
        "points": points,
        "possible": possible,
        "quantity": quantity,
        "reading": reading,
        "samples": samples,
        "seconds": seconds,
        "spread": spread,
        "stages": lambda stages: words(stage.stage for stage in stages),
        "tally": tally,
        "tree": as_text,
        "words": words,
    }
)
"""What templates may say of a value; each returns text that the template still escapes."""

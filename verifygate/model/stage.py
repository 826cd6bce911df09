"""What a stage hands over: checks, findings, measurements, and the details that only its own report shows."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from verifygate.model.architecture import ArchitectureTrees
from verifygate.model.base import Model, Points, Volatile
from verifygate.model.check import Check, Evidence, EvidenceClass, Status
from verifygate.model.finding import Finding
from verifygate.model.links import Coverage, Link
from verifygate.model.measurement import Measurement
from verifygate.model.profile import Curve, HazardAnswer, Profile
from verifygate.model.source_facts import Construct, NotAnalysed, NotFollowed, Suppression
from verifygate.model.trace import EntryPrecision, TraceSummary


class Verdict(StrEnum):
    PASS = "PASS"
    BLOCK = "BLOCK"


class Outcome(StrEnum):
    """Whether the stage did its work; not what it found."""

    COMPLETED = "completed"
    ERRORED = "errored"
    NOT_APPLICABLE = "not applicable"


class TestOutcome(Model):
    """One test of the audited project, as the run itself reported it."""

    __test__ = False  # a model, whatever pytest makes of its name

    id: str
    outcome: Literal["passed", "failed", "skipped", "xfailed", "xpassed", "error", "started", "flaky"]
    """`started` without an end: the run died inside this test. `flaky`: failed, and passed when it ran again."""
    again: str | None = None
    """Its outcome when it ran once more, alone, in a fresh process; null where it did not."""
    reason: str = ""
    """Skip or xfail reason, or the last line of the failure."""
    path: str = ""
    line: int = 0
    requirements: tuple[str, ...] = ()
    """Ids from `@pytest.mark.requirement("AMP-03")` on the test."""
    seconds: Volatile[float | None] = None


class TestWarning(Model):
    """A warning that the audited project's tests raised."""

    __test__ = False

    category: str
    message: str
    path: str
    line: int
    count: int = 1


class FunctionCoverage(Model):
    """One function that holds AMP code, and the tests that execute a line of its body."""

    path: str
    symbol: str
    line: int
    end_line: int
    tests: tuple[str, ...]
    emulated: tuple[str, ...] = ()
    """The tests that execute it where CUDA is emulated, and are skipped elsewhere."""


class NotEmulated(Model):
    """A feature of CUDA that was used where CUDA is emulated, and is not emulated."""

    feature: str
    instead: str
    """What happens in its place."""
    path: str
    """Where it was used first: of the test, or of the file while it was collected."""
    line: int


class EmulatedTest(Model):
    """A test that skips for want of CUDA, run again where CUDA is emulated on the CPU."""

    id: str
    standing: Literal["passed", "failed", "not measured"]
    """`failed` blames the audited code; whatever may lie in the emulation, on either side, is `not measured`."""
    outcome: str
    """What pytest made of it there; empty where it was not run."""
    reason: str = ""
    """Why it did not pass, or why its pass is no proof."""
    path: str = ""
    line: int = 0
    requirements: tuple[str, ...] = ()
    not_emulated: tuple[NotEmulated, ...] = ()


class ExecutionDetails(Model):
    kind: Literal["execution"] = "execution"
    command: tuple[str, ...] = ()
    """Relative to the root: the interpreter's own path is left out."""
    exit_code: int | None = None
    tests: tuple[TestOutcome, ...] = ()
    deselected: int = 0
    collected: int = 0
    warnings: tuple[TestWarning, ...] = ()
    functions: tuple[FunctionCoverage, ...] = ()
    attribution: str = ""
    """Why there is no function coverage, where there is none."""
    trace: Volatile[TraceSummary | None] = None
    """What the recorder saw of AMP during the tests; a test without a seed may skip other steps each time."""
    oracle_entries: tuple[str, ...] = ()
    """What the oracles ran; their checks speak of `entry 1`, `entry 2`."""
    half_precision: Volatile[tuple[EntryPrecision, ...] | None] = None
    """How much of these entries' matrix work was in half precision."""
    output_tail: Volatile[str | None] = None
    emulated: tuple[EmulatedTest, ...] = ()
    """The tests that were skipped for want of CUDA, as they ended where CUDA is emulated."""
    emulation: str = ""
    """Why there was no emulated run, where there was none."""
    emulated_trace: Volatile[TraceSummary | None] = None
    """What these tests did with AMP there."""


class StaticDetails(Model):
    kind: Literal["static"] = "static"
    files_checked: int = 0
    constructs: tuple[Construct, ...] = ()
    not_analysed: tuple[NotAnalysed, ...] = ()
    not_followed: tuple[NotFollowed, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    idle_suppressions: tuple[Suppression, ...] = ()
    """Those that silence nothing in the source, of rules that a run can show broken: it may be what they are for."""
    rules: tuple[str, ...] = ()
    """Codes of the rules that ran."""


class QueryResult(Model):
    """One evidence query of a requirement and its answer."""

    query: str
    """The query in words, for example `test reference_impl/tests/test_train_step.py::test_clip`."""
    status: Status
    actual: str
    evidence: tuple[Evidence, ...] = ()


class RequirementResult(Model):
    """One row of the trace matrix."""

    id: str
    title: str
    text: str
    severity: str
    group: str
    """`acceptance`, `business`, `edge-case`, `data-integrity` or `other`."""
    revision: int = 1
    status: Status
    queries: tuple[QueryResult, ...]
    code: tuple[str, ...] = ()
    """`path:line symbol` of linked code."""
    tests: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    """Ids of tests that a file from elsewhere tells of, each with the file."""
    measurements: tuple[str, ...] = ()
    remedy: str = ""
    words: str = ""
    """Digest of title, text and revision."""
    links: tuple[Link, ...] = ()
    suspect: tuple[str, ...] = ()
    """What changed since the evidence was accepted, a sentence each."""
    unsuspected: Status | None = None
    """What the evidence alone comes to, where suspect links lower the status."""


class ForeignFile(Model):
    """A file of test results from elsewhere, and what became of it."""

    path: str
    digest: str
    """sha256 of its bytes."""
    kind: EvidenceClass
    """As the settings say; `declared` where it contradicts itself."""
    tests: int
    outcomes: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    """In what it contradicts itself."""


class Calculation(Model):
    """A formula applied to measured inputs."""

    title: str
    formula: str
    inputs: str
    expected: str
    measurement: str | None = None
    recomputed: Volatile[float | None] = None
    """The value that the samples give, by the formula; the nearest to the reported one where there are several ways."""
    status: Status
    reason: str = ""


class QualityGate(Model):
    title: str
    threshold: str
    actual: str
    """Always with its denominator: `7 of 8`."""
    status: Status


class Deviation(Model):
    """Something in which a specification asks for other than the catalogue that it extends."""

    requirement: str
    what: str
    direction: Literal["tightened", "loosened", "changed"]
    reason: str = ""
    """Why, as the specification says."""


class RequirementsDetails(Model):
    kind: Literal["requirements"] = "requirements"
    spec: str = ""
    extends: str = ""
    """The catalogue whose requirements the specification takes over."""
    deviations: tuple[Deviation, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    calculations: tuple[Calculation, ...] = ()
    gates: tuple[QualityGate, ...] = ()
    architecture_expected: tuple[str, ...] = ()
    architecture_actual: tuple[str, ...] = ()
    architecture: ArchitectureTrees | None = None
    """The same as trees, symbol by symbol."""
    coverage: Coverage = Field(default_factory=Coverage)
    foreign: tuple[ForeignFile, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    """Requirement ids that tests or code name and the specification does not."""


class PerformanceDetails(Model):
    kind: Literal["performance"] = "performance"
    workload: str = ""
    protocol: tuple[tuple[str, str], ...] = ()
    """Label and value: arms, order, warm-up, seeds, flags."""
    hazards: tuple[str, ...] = ()
    answers: tuple[HazardAnswer, ...] = ()
    """What the profile says of each performance hazard that the static stage found."""
    profiles: Volatile[tuple[Profile, ...] | None] = None
    curves: Volatile[tuple[Curve, ...] | None] = None


Details = ExecutionDetails | StaticDetails | RequirementsDetails | PerformanceDetails


class ScorePart(Model):
    """Points that one check earned, of those it could have. The parts add up to the score exactly."""

    stage: str
    check: str
    """The check's id; `<stage>.completed` for a stage that errored and so lost its whole share."""
    earned: Points
    possible: Points


class StageResult(Model):
    """The whole result of one stage. `verdict`, `score` and `parts` are set by scoring, not by the stage."""

    stage: str
    outcome: Outcome
    reason: str = ""
    """Why the stage errored or has nothing to go on; empty when it completed."""
    verdict: Verdict | None = None
    score: Points | None = None
    """0.00 to 100.00: the sum of what the stage's parts earned."""
    parts: tuple[ScorePart, ...] = ()
    """Points of each check, of the stage's own 100.00."""
    checks: tuple[Check, ...] = ()
    findings: tuple[Finding, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    seconds: Volatile[float | None] = None
    details: Details | None = Field(default=None, discriminator="kind")

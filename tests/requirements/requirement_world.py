"""A world in which every requirement of specs/full.yaml passes; tests take one thing out of it at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verifygate.config.settings import ForeignResults, RequirementsSettings, Settings
from verifygate.model import (
    Arm,
    Check,
    Construct,
    ConstructKind,
    EntryPrecision,
    Evidence,
    EvidenceClass,
    ExecutionDetails,
    Finding,
    Measurement,
    Outcome,
    PerformanceDetails,
    RequirementsDetails,
    StageResult,
    StaticDetails,
    Status,
    TestOutcome,
    TraceSummary,
)
from verifygate.process.subject import Subject
from verifygate.requirements import RequirementsStage
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext

SPECS = Path(__file__).parent / "specs"
LOOP = "train.py"
PROTOCOL = (
    ConstructKind.GRAD_SCALER,
    ConstructKind.AUTOCAST,
    ConstructKind.SCALE,
    ConstructKind.UNSCALE,
    ConstructKind.CLIP,
    ConstructKind.SCALER_STEP,
    ConstructKind.UPDATE,
)


class World:
    """Results of the earlier stages, to be changed before they are traced."""

    def __init__(self) -> None:
        self.constructs = [at(kind, line) for line, kind in enumerate(PROTOCOL, 10)]
        self.rules = ("AMP101", "AMP201")
        self.findings: list[Finding] = []
        self.static: dict[str, Any] = {}
        self.tests = [
            outcome_of("tests/test_loop.py::test_overflow", line=5),
            outcome_of("tests/test_loop.py::test_switch", "R-MARKED", line=9),
            outcome_of("tests/test_config.py::test_default[fp32]", "R-MARKED", line=2),
        ]
        self.deselected = 0
        self.run: TraceSummary | None = None
        self.emulated_run: TraceSummary | None = None
        self.oracles: list[Check] = []
        self.half_precision: tuple[EntryPrecision, ...] | None = None
        self.protocol: PerformanceDetails | None = None
        self.junit: tuple[ForeignResults, ...] = ()
        self.measurements = [speedup()]
        self.checks = [check("performance.memory-reduction")]
        self.missing: dict[str, Outcome | None] = {}
        self.paths = [LOOP, "tests/test_loop.py"]

    def results(self) -> dict[str, StageResult]:
        details = StaticDetails(files_checked=2, constructs=tuple(self.constructs), rules=self.rules, **self.static)
        tests = ExecutionDetails(
            tests=tuple(self.tests),
            deselected=self.deselected,
            trace=self.run,
            emulated_trace=self.emulated_run,
            half_precision=self.half_precision,
        )
        found = {
            "execution": StageResult(
                stage="execution", outcome=Outcome.COMPLETED, details=tests, checks=tuple(self.oracles)
            ),
            "static": StageResult(
                stage="static", outcome=Outcome.COMPLETED, findings=tuple(self.findings), details=details
            ),
            "performance": StageResult(
                stage="performance",
                outcome=Outcome.COMPLETED,
                checks=tuple(self.checks),
                measurements=tuple(self.measurements),
                details=self.protocol,
            ),
        }
        for name, outcome in self.missing.items():
            if outcome is None:
                del found[name]
            else:
                found[name] = found[name].model_copy(update={"outcome": outcome, "reason": "it broke"})
        return found

    def trace(self, spec: Path | str = "full.yaml") -> Traced:
        """Run the stage on a file of specs/, or on a file given by its path."""
        root = SPECS if isinstance(spec, str) else spec.parent
        name = spec if isinstance(spec, str) else spec.name
        return Traced(run(root, name, self.results(), self.paths, self.junit))


class Traced:
    """What the stage made of it, by id."""

    def __init__(self, result: StageResult) -> None:
        assert isinstance(result.details, RequirementsDetails)
        self.result, self.details = result, result.details
        self.checks = {check.id.removeprefix("requirements."): check for check in result.checks}
        self.rows = {row.id: row for row in self.details.requirements}
        self.gates = {gate.title: gate for gate in self.details.gates}

    @property
    def statuses(self) -> dict[str, Status]:
        """The status of every requirement, and of the architecture."""
        return {name: self.checks[name].status for name in (*self.rows, "architecture") if name in self.checks}


def run(
    root: Path,
    spec: str,
    results: dict[str, StageResult],
    paths: Iterable[str] = (),
    junit: tuple[ForeignResults, ...] = (),
) -> StageResult:
    asked = RequirementsSettings(spec=spec, junit=junit)
    settings = Settings(root=root, today=dt.date(2026, 1, 1), requirements=asked)
    sources = Sources(SourceFile(path, b"") for path in paths)
    subject = Subject.__new__(Subject)  # the stage starts no process, so it needs none that could
    return RequirementsStage().run(StageContext(settings, sources, subject, results))


def at(kind: ConstructKind, line: int, path: str = LOOP, text: str = "...") -> Construct:
    return Construct(kind=kind, path=path, line=line, symbol="train_step", text=text)


def outcome_of(
    identifier: str, *requirements: str, outcome: str = "passed", line: int = 1, reason: str = ""
) -> TestOutcome:
    return TestOutcome.model_validate(
        {"id": identifier, "outcome": outcome, "requirements": requirements, "reason": reason, "line": line}
        | {"path": identifier.partition("::")[0]}
    )


def speedup(**changes: Any) -> Measurement:
    """2.0: two rounds in which FP32 takes twice the time."""
    given: dict[str, Any] = {
        "id": "speedup.bf16",
        "title": "Speed-up of bf16",
        "metric": "speedup",
        "unit": "x",
        "device": "NVIDIA H200",
        "status": Status.PASS,
        "target": ">= 1.5",
        "value": 2.0,
        "arms": (arm("fp32", 4.0, 4.0, 6.0, 6.0), arm("bf16", 2.0, 2.0, 3.0, 3.0)),
    }
    return Measurement(**(given | changes))


def arm(name: str, *samples: float, unit: str = "s") -> Arm:
    return Arm(name=name, unit=unit, samples=samples, n=len(samples))


def check(identifier: str, status: Status = Status.PASS, kind: EvidenceClass | None = None, **more: Any) -> Check:
    evidence = (Evidence(id="E-1", kind=kind, summary="as measured"),) if kind else ()
    return Check(id=identifier, title="A check", status=status, evidence=evidence, **more)

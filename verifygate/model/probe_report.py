"""What `verifygate probe` prints: one run of one script, and what it broke."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from verifygate.model.base import Model
from verifygate.model.check import EvidenceClass
from verifygate.model.finding import Finding
from verifygate.model.health import HealthReport
from verifygate.model.recorded_trace import TraceSummary


class Witnessed(StrEnum):
    """What came of a probe."""

    CLEAN = "clean"
    VIOLATIONS = "violations"
    FAILED = "failed"
    """The script did not run to its end, and no violation was seen before."""
    NOT_MEASURED = "NOT MEASURED"
    """Nothing was recorded that could be judged."""


class ProbeReport(Model):
    """One run of one script."""

    schema_version: Literal[1] = 1
    command: tuple[str, ...]
    outcome: Witnessed
    reason: str = ""
    """Why it failed, was not measured, or ended early."""
    evidence: EvidenceClass = EvidenceClass.EXECUTED
    """`emulated` where CUDA was."""
    ending: str
    """How the process ended: `exit code 0`."""
    torch: str = ""
    trace: TraceSummary
    findings: tuple[Finding, ...] = ()
    health: HealthReport | None = None
    """With `--health` and `--shadow`."""

    @property
    def exit_code(self) -> int:
        """0 clean, 1 violations, 2 anything else."""
        return {Witnessed.CLEAN: 0, Witnessed.VIOLATIONS: 1}.get(self.outcome, 2)

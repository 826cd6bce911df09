"""What `verifygate probe` prints: one run of one script, and what it broke."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from verifygate.model.base import Model
from verifygate.model.check import EvidenceClass
from verifygate.model.compiled import CompiledReport
from verifygate.model.dtype_error import DtypeError
from verifygate.model.finding import Finding
from verifygate.model.health import HealthReport
from verifygate.model.numerics import NumericsReport
from verifygate.model.recorded_trace import TraceSummary


class Witnessed(StrEnum):
    """What came of a probe."""

    CLEAN = "clean"
    VIOLATIONS = "violations"
    UNSTABLE = "unstable"
    """No rule was broken, and the loss scale found no level: most steps were skipped to the end."""
    FAILED = "failed"
    """The script did not run to its end, and no violation was seen before."""
    NOT_MEASURED = "NOT MEASURED"
    """Nothing was recorded that could be judged, or steps were skipped without a cause that was found."""


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
    numerics: NumericsReport | None = None
    """Where the numbers of bad steps broke; None where no step had to be watched."""
    dtype_error: DtypeError | None = None
    """Where an error about dtypes ended the run."""
    health: HealthReport | None = None
    """With `--health` and `--shadow`."""
    compiled: CompiledReport | None = None
    """With `--compare-compile`."""

    @property
    def exit_code(self) -> int:
        """0 clean, 1 violations or unstable, 2 anything else."""
        return {Witnessed.CLEAN: 0, Witnessed.VIOLATIONS: 1, Witnessed.UNSTABLE: 1}.get(self.outcome, 2)

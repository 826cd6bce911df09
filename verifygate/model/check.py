"""A check: one question with an expected and an actual answer, and the evidence for it."""

from __future__ import annotations

from enum import StrEnum

from verifygate.model.base import Model


class EvidenceClass(StrEnum):
    """What kind of proof it is, strongest first. `declared` and `projected` never satisfy anything."""

    MEASURED = "measured"
    EXECUTED = "executed"
    EMULATED = "emulated"
    STATIC = "static"
    DECLARED = "declared"
    PROJECTED = "projected"

    @property
    def satisfies(self) -> bool:
        """Whether evidence of this class can make a check PASS."""
        return self not in (EvidenceClass.DECLARED, EvidenceClass.PROJECTED)


class Status(StrEnum):
    """How a check ended. Only PASS is good news; NOT MEASURED is never shown green and earns no points."""

    PASS = "PASS"
    FAIL = "FAIL"
    PARTIAL = "PARTIAL"
    NOT_MEASURED = "NOT MEASURED"
    NOT_APPLICABLE = "NOT APPLICABLE"


class Evidence(Model):
    """One fact that somebody else can look up or re-run."""

    id: str
    """Unique within a report, for example `E-static-AMP201`."""
    kind: EvidenceClass
    summary: str
    path: str | None = None
    line: int | None = None


class Check(Model):
    """One question and its answer."""

    id: str
    """`stage.name`, for example `execution.tests-pass`; waivers name a check by it."""
    title: str
    status: Status
    required: bool = True
    """A required check that is not PASS (or NOT APPLICABLE) blocks; one that is not FAIL can be waived."""
    weight: int = 1
    """Its share of the stage's points, relative to the stage's other checks; 0 takes no part in the score."""
    expected: str = ""
    actual: str = ""
    measurement: str | None = None
    """Id of the measurement that holds the actual value; measured numbers never stand in `actual` itself."""
    evidence: tuple[Evidence, ...] = ()
    inherited: str = ""
    """Why it does not block although it is required: what it lacks was so before the change under review."""
    remedy: str = ""
    """How to make it PASS, or how to get the missing evidence."""

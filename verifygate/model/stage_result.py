"""The result of a stage: checks, findings, measurements, and the details that only its own page shows."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Union

from pydantic import Field

from verifygate.base.loading import loaded
from verifygate.model.base import Model, Points, Volatile
from verifygate.model.check import Check
from verifygate.model.finding import Finding
from verifygate.model.measurement import Measurement
from verifygate.stage_registry import by_weight

if TYPE_CHECKING:
    from verifygate.model.stage_details import StageDetails

    Details = StageDetails
else:
    Details = Union[tuple(loaded(entry.details) for entry in by_weight().values())]  # noqa: UP007 - as many as there are
    """The details of any stage; their `kind` says which."""


ISOLATION, ISOLATION_BY_DEFAULT = "isolation", "isolation by default"
"""Entries of a stage's environment: what holds of the isolation that somebody asked for, or that nobody did."""


class Verdict(StrEnum):
    PASS = "PASS"
    BLOCK = "BLOCK"


class Outcome(StrEnum):
    """Whether the stage did its work; not what it found."""

    COMPLETED = "completed"
    ERRORED = "errored"
    NOT_APPLICABLE = "not applicable"


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
    kept: Volatile[str | None] = None
    """When the result was found, where it was kept of an earlier run (UTC, ISO 8601); null where the stage ran now."""
    details: Details | None = Field(default=None, discriminator="kind")

"""One run of the gate as a history keeps it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from verifygate.model.base import Model, Points
from verifygate.model.stage_result import Verdict

Count = Annotated[int, Field(ge=0, le=10**9, strict=True)]


class PastRun(Model):
    started: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")
    """UTC, ISO 8601, whole seconds."""
    commit: str = Field(pattern=r"^(?:none|[0-9a-f]{40,64}(?:\+changes)?)$")
    """As the report's provenance has it."""
    verdict: Verdict
    score: Annotated[Points, Field(ge=0, le=100)] | None
    reasons: Count
    """Reasons to block."""
    critical: Count
    high: Count
    medium: Count
    low: Count
    """Findings by severity."""

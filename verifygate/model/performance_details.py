"""What the performance stage alone reports: the protocol, profiles, curves."""

from __future__ import annotations

from typing import Literal

from verifygate.model.base import Volatile
from verifygate.model.profile import Curve, HazardAnswer, Profile
from verifygate.model.stage_details import StageDetails


class PerformanceDetails(StageDetails):
    kind: Literal["performance"] = "performance"
    workload: str = ""
    protocol: tuple[tuple[str, str], ...] = ()
    """Label and value: arms, order, warm-up, seeds, flags."""
    hazards: tuple[str, ...] = ()
    answers: tuple[HazardAnswer, ...] = ()
    """What the profile says of each performance hazard that the static stage found."""
    profiles: Volatile[tuple[Profile, ...] | None] = None
    curves: Volatile[tuple[Curve, ...] | None] = None

"""The stages of the gate, in order. A new stage is one package and one line here."""

from __future__ import annotations

from verifygate.execution import ExecutionStage
from verifygate.performance import PerformanceStage
from verifygate.requirements import RequirementsStage
from verifygate.stage import Stage
from verifygate.static.stage import StaticStage

STAGES: tuple[Stage, ...] = (
    ExecutionStage(),
    StaticStage(),
    PerformanceStage(),
    RequirementsStage(),
)

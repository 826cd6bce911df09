"""The contract of a stage, and all that a stage may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from verifygate.config.settings import Settings
from verifygate.model import Outcome, StageResult
from verifygate.process.subject import Subject
from verifygate.sources.tree import Sources


@dataclass(frozen=True)
class StageContext:
    """What a stage may see. Earlier stages are here as results, never as modules."""

    settings: Settings
    sources: Sources
    subject: Subject
    results: Mapping[str, StageResult] = field(default_factory=dict)
    since: str = ""
    """The commit that the run's change began at; empty where the whole is judged."""
    progress: Callable[[str], None] = lambda _text: None
    """Tells a person at a terminal what is going on."""
    base: str = ""
    """The commit whose policy counts: what a change brings with it vouches for nothing. Empty where there is none."""


class Stage(Protocol):
    """One stage of the gate. An exception out of `run` makes the stage errored, and the verdict BLOCK."""

    def run(self, context: StageContext) -> StageResult: ...


def not_configured(stage: str, how: str) -> StageResult:
    """The result of a stage that has nothing to go on; `how` says what would give it something."""
    return StageResult(stage=stage, outcome=Outcome.NOT_APPLICABLE, reason=f"not configured: {how}")

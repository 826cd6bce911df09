"""What the security stage alone reports: which analysers ran."""

from __future__ import annotations

from typing import Literal

from verifygate.model.base import Model
from verifygate.model.source_facts import Suppression
from verifygate.model.stage_details import StageDetails


class AnalyserRun(Model):
    """An analyser of others, and what became of it."""

    name: str
    rule: str
    """The code that its findings have here."""
    ran: bool
    problem: str = ""
    """Why it did not answer; empty where it did."""
    findings: int = 0


class SecurityDetails(StageDetails):
    kind: Literal["security"] = "security"
    rules: tuple[str, ...] = ()
    """Codes of the rules of its own that ran."""
    analysers: tuple[AnalyserRun, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    """Comments that silence a finding of this stage."""

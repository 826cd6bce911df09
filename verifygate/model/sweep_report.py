"""What `verifygate sweep` writes: one row for each unit of the list, and what changed since an earlier sweep."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from verifygate.model.base import Model
from verifygate.model.finding import Certainty, Severity


class Answer(StrEnum):
    """What is known of a unit, worst first."""

    BLOCK = "BLOCK"
    """`verifygate run` would block for a finding, by the policy that holds where nothing is configured."""
    UNKNOWN = "UNKNOWN"
    """There is no answer, or a file with AMP code could not be analysed."""
    PASS = "PASS"


class SweptFinding(Model):
    """A finding, as much of it as a table over many repositories needs."""

    rule: str
    severity: Severity
    certainty: Certainty
    path: str
    line: int
    message: str
    fingerprints: tuple[str, ...]
    """Its own, and those of further locations of the same fault."""
    blocks: bool
    """Whether the unit is blocked for it."""

    @property
    def is_note(self) -> bool:
        return self.severity is Severity.INFO


class Row(Model):
    """The answer of one unit."""

    name: str
    """The unit as the list writes it."""
    answer: Answer
    reason: str = ""
    """Why nothing is known; empty where there is an answer."""
    commit: str = ""
    """The full name of the commit; empty for the files as they lie in the folder."""
    key: str = ""
    """The digest of all that the answer depends on: the files, the rules, and this program."""
    files: int = 0
    """Python files that were analysed."""
    seconds: float = 0.0
    """CPU time of the analysis when it ran; an answer that was kept has that of its first time."""
    suppressed: int = 0
    findings: tuple[SweptFinding, ...] = ()
    not_analysed: tuple[str, ...] = ()
    """`PATH: REASON` of each file with AMP code that could not be analysed."""

    @property
    def faults(self) -> tuple[SweptFinding, ...]:
        """The findings that are more than notes."""
        return tuple(each for each in self.findings if not each.is_note)

    @property
    def blocking(self) -> tuple[SweptFinding, ...]:
        return tuple(each for each in self.findings if each.blocks)


class Change(Model):
    """A unit now, beside the same unit of an earlier sweep."""

    name: str
    before: Answer | None = None
    """None: it was not in the earlier sweep."""
    new: int = 0
    """Faults of which a location is new. Not counted where one of both sweeps knows nothing of the unit."""
    gone: int = 0


class Trend(Model):
    """What changed since an earlier sweep."""

    tool_version: str
    """The version that made the earlier report: with another version, rules differ as well."""
    changes: tuple[Change, ...]
    """One for each row, in the same order."""
    left: tuple[str, ...] = ()
    """Units of the earlier sweep that the list does not have any more."""
    rules: dict[str, int] = {}
    """Rule -> its faults in the earlier sweep."""


class SweepReport(Model):
    """One report over all units."""

    schema_version: Literal[1] = 1
    tool_version: str
    listed: tuple[str, ...]
    """The units of the whole list, also those that belong to other shards."""
    shard: str = ""
    """`1/4` where this is one of four parts."""
    rows: tuple[Row, ...]
    """In the order of the list."""
    trend: Trend | None = None

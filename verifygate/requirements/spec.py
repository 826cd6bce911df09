"""The specification: what the project must do, and for each requirement the queries whose answers would prove it.

A requirement is PASS when every query passes and FAIL when any fails. Otherwise it is PARTIAL when at least one
query passes (or passes in part), and NOT MEASURED when none does. One without queries is NOT MEASURED, too. What a
person has signed is a declaration: a requirement that nothing else proves is at best PARTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from verifygate.model import Deviation, Model, Severity
from verifygate.model.precision_contract import Aspect
from verifygate.requirements.queries import Query, QueryKind

Share = Annotated[float, Field(ge=0, le=1)]
Group = Literal["acceptance", "business", "edge-case", "data-integrity", "regulatory", "other"]
RESERVED = frozenset(
    {
        "architecture",
        "calculations",
        "foreign-results",
        "inherited",
        "marks",
        "quality-gates",
        "suspect-links",
        "unknown-ids",
    }
)
"""Checks beside those of the requirements: an id must not be one of them."""


class Requirement(Model):
    """One thing that the project must do."""

    id: str
    """What tests name in `@pytest.mark.requirement("AMP-03")`."""
    title: str
    text: str
    """The criterion as its author put it."""
    group: Group
    severity: Severity
    required: bool = True
    """Whether anything but PASS blocks."""
    revision: Annotated[int, Field(ge=1)] = 1
    """Counted up by whoever changes what the requirement means."""
    depends: tuple[str, ...] = ()
    """Requirements that must PASS before this one can."""
    review_suffices: bool = False
    """Whether a valid `review` is all that its query asks for. Beside another query that passes it lets the
    requirement PASS; alone it never does."""
    verify: tuple[Query, ...] = ()

    @field_validator("id")
    @classmethod
    def _plain_id(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,63}", name):
            raise ValueError("an id is a letter, then letters, digits, `.`, `_` or `-`")
        if name in RESERVED or name.startswith("precision."):
            raise ValueError("the stage uses this name for one of its own checks")
        return name

    @field_validator("title", "text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("it is empty, so it cannot be verified")
        return text.strip()

    @model_validator(mode="after")
    def _reviewed(self) -> Requirement:
        if self.review_suffices and not any(query.kind is QueryKind.REVIEW for query in self.verify):
            raise ValueError("`review_suffices` goes with a `review` among its queries")
        return self


class Architecture(Model):
    """`architecture:` who drives mixed precision."""

    explicit: bool = False
    """Explicit AMP in the project's own loop, which makes the scaler, enters autocast, scales, steps and updates."""
    delegated: bool = False
    """A framework drives it, and recorded steps show what it does."""
    within: str | None = Field(default=None, alias="in")
    """Pattern of paths in which the loop stands."""
    expected: tuple[str, ...] = ()
    """The expected structure, line by line, as the report prints it; derived from the others where it is empty."""

    @model_validator(mode="after")
    def _one_driver(self) -> Architecture:
        if self.explicit and self.delegated:
            raise ValueError("mixed precision is explicit or delegated: leave one of them out")
        return self


class Thresholds(Model):
    """`gates:` the share that each quality gate asks for."""

    coverage: Share = 0.8
    """Requirements that PASS."""
    critical: Share = 1.0
    """Requirements of severity critical that PASS."""
    calculations: Share = 1.0
    """Calculations that follow from their samples."""
    edge_cases: Share = 0.9
    """Requirements of group edge-case that PASS."""
    regulatory: Share = 1.0


class Override(Model):
    """`override:` what is different about one requirement of the catalogue; each difference is shown in the report."""

    drop: bool = False
    """Leave the requirement out."""
    reason: str = ""
    """Why; needed where less is asked for than the catalogue asks."""
    title: str | None = None
    text: str | None = None
    severity: Severity | None = None
    required: bool | None = None
    review_suffices: bool | None = None
    verify: tuple[Query, ...] | None = None
    """These queries in place of the catalogue's."""
    also: tuple[Query, ...] = ()
    """These queries beside the catalogue's."""

    @model_validator(mode="after")
    def _one_change(self) -> Override:
        changed = self.model_fields_set - {"drop", "reason"}
        if self.drop and changed:
            raise ValueError("a dropped requirement cannot be changed as well")
        if not self.drop and not changed:
            raise ValueError("it changes nothing")
        if self.verify is not None and self.also:
            raise ValueError("`verify` is the whole list: write the queries of `also` into it")
        return self


class SpecFile(Model):
    """The whole file, as it is written."""

    title: str
    task: str = ""
    extends: str = ""
    """A catalogue that comes with verifygate, whose requirements this file takes over: `amp-core`, `amp-delegated`."""
    select: tuple[str, ...] = ()
    """Ids and groups of the catalogue's requirements to take over; all of them where it is empty."""
    override: dict[str, Override] = Field(default_factory=dict)
    """Id of a requirement of the catalogue -> what is different about it here."""
    advisory: bool = False
    """Whether it is only a start: everything is traced and shown, and nothing of it blocks."""
    architecture: Architecture = Field(default_factory=Architecture)
    precision: dict[str, Any] = Field(default_factory=dict)
    """Row of the precision contract -> the value that it has to have, or several that it may have."""
    gates: Thresholds = Field(default_factory=Thresholds)
    requirements: tuple[Requirement, ...] = ()


class Spec(Model):
    """What the file comes to, with all that it inherits."""

    title: str
    task: str = ""
    advisory: bool = False
    architecture: Architecture = Field(default_factory=Architecture)
    precision: dict[Aspect, tuple[str, ...]] = Field(default_factory=dict)
    gates: Thresholds = Field(default_factory=Thresholds)
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class Lines:
    """Where in the specification's file one requirement stands: it, and each of its queries."""

    requirement: int
    queries: tuple[int, ...]


@dataclass(frozen=True)
class Specification:
    """A specification that was read."""

    spec: Spec
    path: str
    lines: Mapping[str, Lines]
    """Id -> where it stands; what is inherited stands where the file says so."""
    extends: str = ""
    deviations: tuple[Deviation, ...] = ()
    """Where it asks for something else than the catalogue that it extends."""
    precision_lines: Mapping[Aspect, int] = field(default_factory=dict)
    """Row of the precision contract -> the line that asks for it."""
    as_written: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Id -> why a line of a task file cannot be verified as it is written; and what to do."""

"""The specification: what the project must do, and for each requirement the queries whose answers would prove it.

A requirement is PASS when every query passes and FAIL when any fails. Otherwise it is PARTIAL when at least one
query passes (or passes in part), and NOT MEASURED when none does. One without queries is NOT MEASURED, too.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from verifygate.errors import UsageError
from verifygate.model import ConstructKind, Model, Severity
from verifygate.strict import Document, read_yaml

Share = Annotated[float, Field(ge=0, le=1)]
Group = Literal["acceptance", "business", "edge-case", "data-integrity", "regulatory", "other"]
TRACED_STAGES = ("execution", "static", "performance")
"""The stages whose checks a query may name."""
RESERVED = frozenset({"architecture", "calculations", "quality-gates", "unknown-ids", "marks", "suspect-links"})
"""Checks beside those of the requirements: an id must not be one of them."""


class QueryKind(StrEnum):
    """What a query asks for: the one of these keys that it has."""

    CONSTRUCT = "construct"
    RULE = "rule"
    TEST = "test"
    MARKED_TESTS = "marked_tests"
    MEASUREMENT = "measurement"
    CHECK = "check"


class MarkedTests(Model):
    """`marked_tests:` the tests that carry `@pytest.mark.requirement("<this id>")`."""

    at_least: Annotated[int, Field(ge=1)] = 1
    """How many test functions there must be; every one of them must have run and passed."""


class Query(Model):
    """One question about the evidence; it has exactly one of the keys `QueryKind` names."""

    code: ConstructKind | None = Field(default=None, alias="construct")
    """This AMP code stands in the sources. Test files count only where `in` names them, as in `tests/*`."""
    rule: str | None = None
    """This rule ran and found nothing."""
    test: str | None = None
    """This test ran and passed: an id, the beginning of ids up to `::`, `[` or `/`, or a pattern with `*` and `?`."""
    marked_tests: MarkedTests | None = None
    measurement: str | None = None
    """This measurement was taken and met its target: an id, or a pattern such as `speedup.*`."""
    check: str | None = None
    """This check of another stage passed, for example `performance.speedup`."""
    within: str | None = Field(default=None, alias="in")
    """Pattern of paths that narrows `construct` or `rule`; `*` matches `/` as well."""
    absent: bool = Field(default=False, alias="not")
    """Turns `construct` round: it must stand nowhere."""

    @field_validator("rule", "test", "measurement", "check", "within")
    @classmethod
    def _not_empty(cls, text: str | None) -> str | None:
        if text is not None and not text.strip():
            raise ValueError("it is empty")
        return text

    @field_validator("rule")
    @classmethod
    def _a_code(cls, rule: str | None) -> str | None:
        if rule is not None and not re.fullmatch(r"[A-Z]+[0-9]+", rule):
            raise ValueError("give the rule's code, for example AMP201")
        return rule

    @field_validator("check")
    @classmethod
    def _of_an_earlier_stage(cls, check: str | None) -> str | None:
        if check is not None and check.partition(".")[0] not in TRACED_STAGES:
            raise ValueError(f"a check is named `stage.name`, and the stage is one of {', '.join(TRACED_STAGES)}")
        return check

    @model_validator(mode="after")
    def _one_question(self) -> Query:
        asked = list(self._asked())
        if len(asked) != 1:
            said = f"this one has {' and '.join(asked)}" if asked else "this one has none"
            raise ValueError(f"a query has exactly one of {', '.join(QueryKind)}; {said}")
        if self.absent and self.kind is not QueryKind.CONSTRUCT:
            raise ValueError("`not` goes with `construct` only")
        if self.within and self.kind not in (QueryKind.CONSTRUCT, QueryKind.RULE):
            raise ValueError("`in` goes with `construct` and `rule` only")
        return self

    def _asked(self) -> dict[QueryKind, str]:
        """What is asked for under each key that is there, in words."""
        marked = f"at least {self.marked_tests.at_least}" if self.marked_tests else None
        said = (self.code and self.code.value, self.rule, self.test, marked, self.measurement, self.check)
        return {kind: text for kind, text in zip(QueryKind, said, strict=True) if text is not None}

    @property
    def kind(self) -> QueryKind:
        return next(iter(self._asked()))

    @property
    def words(self) -> str:
        """The query as a report shows it, for example `construct grad-scaler in reference_impl/*`."""
        kind, asked = next(iter(self._asked().items()))
        where = f" in {self.within}" if self.within else ""
        return f"{'no ' if self.absent else ''}{kind.value.replace('_', ' ')} {asked}{where}"


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
    verify: tuple[Query, ...] = ()

    @field_validator("id")
    @classmethod
    def _plain_id(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,63}", name):
            raise ValueError("an id is a letter, then letters, digits, `.`, `_` or `-`")
        if name in RESERVED:
            raise ValueError("the stage gives a check of its own this name")
        return name

    @field_validator("title", "text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("it is empty, so nothing could ever meet or miss it")
        return text.strip()


class Architecture(Model):
    """`architecture:` who drives mixed precision."""

    explicit: bool = False
    """Explicit AMP in the project's own loop, which makes the scaler, enters autocast, scales, steps and updates."""
    within: str | None = Field(default=None, alias="in")
    """Pattern of paths in which the loop stands."""
    expected: tuple[str, ...] = ()
    """The expected structure, line by line, as the report prints it; derived from `explicit` where it is empty."""


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


class Spec(Model):
    """The whole file."""

    title: str
    task: str = ""
    architecture: Architecture = Field(default_factory=Architecture)
    gates: Thresholds = Field(default_factory=Thresholds)
    requirements: Annotated[tuple[Requirement, ...], Field(min_length=1)]


class Specification:
    """A specification that was read, and the lines on which its parts stand."""

    def __init__(self, spec: Spec, document: Document) -> None:
        self.spec = spec
        self.path = document.path
        self._document = document

    def line(self, *where: str | int) -> int:
        """The line of a part, for example `line("requirements", 2, "verify", 0)`; of what is around it else; or 1."""
        _, _, line = self._document.place(where).rpartition(":")
        return int(line) if line.isdigit() else 1


def read_specification(root: Path, path: str) -> Specification:
    """Read and check the file at `path` below `root`. Raises UsageError, with its line, for whatever is wrong."""
    document = read_yaml(root / path, path)
    spec = document.validate(Spec)
    first: dict[str, int] = {}
    for index, requirement in enumerate(spec.requirements):
        key = requirement.id.casefold()
        if key in first:
            earlier = document.place(("requirements", first[key], "id"))
            raise UsageError(
                f"the id `{requirement.id}` stands twice, first at {earlier}",
                where=document.place(("requirements", index, "id")),
                remedy="give every requirement an id of its own",
            )
        first[key] = index
    return Specification(spec, document)

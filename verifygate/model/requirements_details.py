"""What the requirements stage alone reports: the trace matrix, calculations, quality gates."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from verifygate.model.architecture import ArchitectureTrees
from verifygate.model.base import Model, Volatile
from verifygate.model.check import Evidence, EvidenceClass, Status
from verifygate.model.links import Coverage, Link
from verifygate.model.precision_contract import AskedPrecision
from verifygate.model.stage_details import StageDetails


class QueryResult(Model):
    """One evidence query of a requirement and its answer."""

    query: str
    """The query in words, for example `test reference_impl/tests/test_train_step.py::test_clip`."""
    status: Status
    actual: str
    evidence: tuple[Evidence, ...] = ()


class RequirementResult(Model):
    """One row of the trace matrix."""

    id: str
    title: str
    text: str
    severity: str
    group: str
    """`acceptance`, `business`, `edge-case`, `data-integrity` or `other`."""
    revision: int = 1
    status: Status
    queries: tuple[QueryResult, ...]
    code: tuple[str, ...] = ()
    """`path:line symbol` of linked code."""
    tests: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    """Ids of tests that a file from elsewhere tells of, each with the file."""
    measurements: tuple[str, ...] = ()
    remedy: str = ""
    words: str = ""
    """Digest of title, text and revision."""
    links: tuple[Link, ...] = ()
    suspect: tuple[str, ...] = ()
    """What changed since the evidence was accepted, a sentence each."""
    unsuspected: Status | None = None
    """What the evidence alone comes to, where suspect links lower the status."""


class ForeignFile(Model):
    """A file of test results from elsewhere, and what became of it."""

    path: str
    digest: str
    """sha256 of its bytes."""
    kind: EvidenceClass
    """As the settings say; `declared` where it contradicts itself."""
    tests: int
    outcomes: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    """In what it contradicts itself."""


class Calculation(Model):
    """A formula applied to measured inputs."""

    title: str
    formula: str
    inputs: str
    expected: str
    measurement: str | None = None
    recomputed: Volatile[float | None] = None
    """The value that the samples give, by the formula; the nearest to the reported one where there are several ways."""
    status: Status
    reason: str = ""


class QualityGate(Model):
    title: str
    threshold: str
    actual: str
    """Always with its denominator: `7 of 8`."""
    status: Status


class Deviation(Model):
    """Something in which a specification asks for other than the catalogue that it extends."""

    requirement: str
    what: str
    direction: Literal["tightened", "loosened", "changed"]
    reason: str = ""
    """Why, as the specification says."""


class RequirementsDetails(StageDetails):
    kind: Literal["requirements"] = "requirements"
    spec: str = ""
    extends: str = ""
    """The catalogue whose requirements the specification takes over."""
    deviations: tuple[Deviation, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    calculations: tuple[Calculation, ...] = ()
    gates: tuple[QualityGate, ...] = ()
    architecture_expected: tuple[str, ...] = ()
    architecture_actual: tuple[str, ...] = ()
    architecture: ArchitectureTrees | None = None
    """The same as trees, symbol by symbol."""
    coverage: Coverage = Field(default_factory=Coverage)
    foreign: tuple[ForeignFile, ...] = ()
    precision: tuple[AskedPrecision, ...] = ()
    """The rows of the precision contract that the specification asks for."""
    unknown_ids: tuple[str, ...] = ()
    """Requirement ids that tests or code name and the specification does not."""

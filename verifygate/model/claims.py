"""What `verifygate evidence claims` says of prose reports: each claim that could be extracted, and how it stands."""

from __future__ import annotations

from enum import StrEnum

from verifygate.model.base import Model
from verifygate.model.check_report import SCHEMA_VERSION


class ClaimVerdict(StrEnum):
    """How a claim stands, worst first."""

    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    CONFIRMED = "CONFIRMED"

    @property
    def rank(self) -> int:
        return list(ClaimVerdict).index(self)


class ClaimKind(StrEnum):
    """What is claimed."""

    AGREEMENT = "agreement"
    """Several reports about one thing, or two places of one report: do they say the same?"""
    SCORE = "score"
    """A score and the parts it is made of."""
    PERCENTAGE = "percentage"
    """A share and the counts beside it."""
    EQUATION = "equation"
    """A calculation that is written out."""
    TABLE = "table"
    """The total row, or a calculated column, of a table."""
    DERIVED = "derived"
    """A figure that must follow from others: a ratio of before and after, a combined speed-up."""
    COUNT = "count"
    """A number of things beside the list of these things."""
    TARGET = "target"
    """A target that is called met."""
    TESTS = "tests"
    """How many tests passed."""
    REFERENCE = "reference"
    """A file and lines in it."""
    QUOTE = "quote"
    """Code that is said to stand in a file."""
    SYMBOL = "symbol"
    """A name that is said to be in the code."""
    ABSENCE = "absence"
    """Something that is said to be nowhere in the code."""
    ENCODING = "encoding"
    """Whether the report's own text is what its author wrote."""


class Passage(Model):
    """A place in a report, with the words that stand there."""

    path: str
    line: int
    words: str


class Claim(Model):
    """One claim of a report."""

    kind: ClaimKind
    verdict: ClaimVerdict
    path: str
    line: int
    words: str
    """The words of the report that make the claim, without markup, cut short."""
    reason: str
    against: tuple[Passage, ...] = ()
    """Other passages that speak for or against it."""

    @property
    def order(self) -> tuple[int, str, int, str, str]:
        """Sorts by how it stands, then by place."""
        return (self.verdict.rank, self.path, self.line, self.kind.value, self.words)


class Unparsed(Model):
    """A sentence in which nothing was found that could be tested."""

    line: int
    words: str


class ReadReport(Model):
    """One prose report as it was read."""

    path: str
    digest: str
    """sha256 of the file."""
    title: str
    task: str = ""
    version: str = ""
    sentences: int
    """Sentences, list items and table rows; headings and code blocks are not counted."""
    not_parsed: tuple[Unparsed, ...] = ()


class ClaimsReport(Model):
    """What `verifygate evidence claims --format json` prints."""

    schema_version: int = SCHEMA_VERSION
    source_files: int | None = None
    """Files of the source tree that was searched; None where no tree was given."""
    tests_run: bool = False
    refuted: int
    inconclusive: int
    confirmed: int
    reports: tuple[ReadReport, ...]
    claims: tuple[Claim, ...]

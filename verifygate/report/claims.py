"""What `verifygate evidence claims` prints: for people as text or Markdown, by the templates; for programs as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

from verifygate.base.counts import counted
from verifygate.model.claims import Claim, ClaimKind, ClaimsReport, ClaimVerdict, Passage, ReadReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain
from verifygate.report.markdown import filled

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH = 118
ALIKE = 3
"""From so many inconclusive claims with one reason on, they share a line."""
NOT_MEASURED = "not measured"
"""How the reason of a target without a measurement begins."""
_KINDS = {
    ClaimKind.REFERENCE: ("reference to lines", "references to lines"),
    ClaimKind.QUOTE: ("quotation of code", "quotations of code"),
    ClaimKind.SYMBOL: ("name", "names"),
    ClaimKind.ABSENCE: ("absence", "absences"),
    ClaimKind.TESTS: ("test count", "test counts"),
}
"""Kinds of which a report has many that wait for the same thing."""


@dataclass(frozen=True)
class Alike:
    """Inconclusive claims that wait for one thing."""

    reason: str
    claims: tuple[Claim, ...]

    @property
    def kinds(self) -> str:
        counts = Counter(claim.kind for claim in self.claims)
        return ", ".join(counted(counts[kind], *names) for kind, names in _KINDS.items() if counts[kind])

    @property
    def lines(self) -> str:
        return ranges(claim.line for claim in self.claims)


class ReportPage:
    """One report, read for printing."""

    def __init__(self, report: ReadReport, claims: Sequence[Claim]) -> None:
        self.report = report
        own = [claim for claim in claims if not _between(claim)]
        self.refuted = [claim for claim in own if claim.verdict is ClaimVerdict.REFUTED]
        self.confirmed = [claim for claim in own if claim.verdict is ClaimVerdict.CONFIRMED]
        open_ = [claim for claim in own if claim.verdict is ClaimVerdict.INCONCLUSIVE]
        by_reason = {
            reason: tuple(group)
            for reason, group in groupby(
                sorted((c for c in open_ if c.kind in _KINDS), key=lambda c: (c.reason, c.line)), key=lambda c: c.reason
            )
        }
        self.alike = [Alike(reason, group) for reason, group in by_reason.items() if len(group) >= ALIKE]
        shared = {claim for each in self.alike for claim in each.claims}
        self.inconclusive = [claim for claim in open_ if claim not in shared]
        self.counts = counts(claims)

        self._number = Counter(claim.verdict.value for claim in claims)

    def number(self, verdict: str) -> int:
        return self._number[verdict]

    @property
    def not_parsed(self) -> str:
        if not self.report.sentences:
            return "no sentence to parse"
        return f"{len(self.report.not_parsed)} of {counted(self.report.sentences, 'sentence')} not parsed"

    @property
    def not_parsed_lines(self) -> str:
        return ranges(sentence.line for sentence in self.report.not_parsed)


class ClaimsPage:
    """All reports, read for printing."""

    def __init__(self, report: ClaimsReport) -> None:
        self.report = report
        self.reports = [ReportPage(one, [c for c in report.claims if c.path == one.path]) for one in report.reports]
        self.between = [claim for claim in report.claims if _between(claim)]
        self.contradictions = [claim for claim in self.between if claim.verdict is not ClaimVerdict.CONFIRMED]
        self.agreements = [claim for claim in self.between if claim.verdict is ClaimVerdict.CONFIRMED]

    @property
    def counts(self) -> str:
        return counts(self.report.claims)

    @property
    def unmeasured(self) -> str:
        """The open claims that matter most, counted: a target that is called met, and nobody measured."""
        count = sum(1 for claim in self.report.claims if claim.reason.startswith(NOT_MEASURED))
        return f"targets called met that nobody measured: {count}" if count else ""

    @property
    def searched(self) -> str:
        if self.report.source_files is None:
            return "no source tree was given: what the reports say of code stays open (--root DIR)"
        ran = "tests run again" if self.report.tests_run else "tests not run again (--run-tests)"
        return f"source tree: {counted(self.report.source_files, 'source file')} searched; {ran}"


def text(report: ClaimsReport) -> str:
    rendered = _environment().get_template("claims.txt.j2").render(page=ClaimsPage(report))
    return rendered.strip("\n") + "\n"


def markdown(report: ClaimsReport) -> str:
    return filled("claims.md.j2", page=ClaimsPage(report))


def as_json(report: ClaimsReport) -> str:
    document = report.model_dump(mode="json")
    return text_of(document)


def counts(claims: Iterable[Claim]) -> str:
    """`2 refuted, 14 inconclusive, 9 confirmed`."""
    found = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{found[verdict]} {verdict.value.lower()}" for verdict in ClaimVerdict)


def ranges(lines: Iterable[int]) -> str:
    """`3, 5-9, 12`."""
    parts: list[list[int]] = []
    for line in sorted(set(lines)):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts) or "none"


def _between(claim: Claim) -> bool:
    return any(passage.path != claim.path for passage in claim.against)


def _place(what: Claim | Passage) -> str:
    return f"{plain(what.path)}:{what.line}"


def _folded(value: str, indent: int) -> str:
    """A sentence over as many lines as it takes, all of them indented."""
    return "\n".join(wrap(plain(value, LONG), WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here: `verifygate check` never needs it

    environment = Environment(
        loader=PackageLoader("verifygate.report", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - plain text; `finalize` takes out what a terminal would obey
        finalize=lambda value: value if isinstance(value, _Ready) else plain(str(value), LONG),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        place=_place,
        raw=lambda value: _Ready(str(value)),
        folded=lambda value, indent: _Ready(_folded(str(value), indent)),
    )
    return environment


class _Ready(str):
    """Text that is clean already, and may hold line ends."""

    __slots__ = ()

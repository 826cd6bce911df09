"""What `verifygate sweep` writes for people: one page over all units, as Markdown and as HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from verifygate.base.counts import counted
from verifygate.model.finding import BLOCKING, Certainty, Severity
from verifygate.model.json_document import text_of
from verifygate.model.sweep_report import Answer, Change, Row, SweepReport, SweptFinding
from verifygate.report.escape import html_text
from verifygate.report.markdown import filled

FAULTS = tuple(severity for severity in Severity if severity is not Severity.INFO)
"""Severities of faults; a note is none."""
MOST_UNITS = 1_000
MOST_WITH_FINDINGS = 25
"""Units, the worst first, of which findings are shown."""
MOST_FINDINGS = 5
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid #999;padding:.2rem .5rem}"
    "code{overflow-wrap:anywhere}"
)


@dataclass(frozen=True)
class RuleLine:
    """One rule over all units."""

    code: str
    blocked: int
    """Units that are blocked for it."""
    units: int
    faults: int
    certain: int
    before: int | None


class SweepPage:
    """A report, read for printing."""

    most_units, most_findings = MOST_UNITS, MOST_FINDINGS
    blocking_severities = " or ".join(BLOCKING)

    def __init__(self, report: SweepReport) -> None:
        self.report = report
        self._changes = {change.name: change for change in report.trend.changes} if report.trend else {}

    @property
    def counts(self) -> str:
        """`2 BLOCK, 1 UNKNOWN, 197 PASS`."""
        found = Counter(row.answer for row in self.report.rows)
        return ", ".join(f"{found[answer]} {answer.value}" for answer in Answer)

    @property
    def size(self) -> str:
        files, seconds = (sum(getattr(row, name) for row in self.report.rows) for name in ("files", "seconds"))
        return f"{counted(len(self.report.rows), 'unit')}, {counted(files, 'Python file')}, {seconds:.0f} s of CPU time"

    @cached_property
    def worst_first(self) -> list[Row]:
        return sorted(self.report.rows, key=_harm)

    @property
    def unknown(self) -> list[Row]:
        """Units of which nothing, or not everything, is known."""
        return [row for row in self.report.rows if row.answer is Answer.UNKNOWN or row.not_analysed]

    @property
    def with_findings(self) -> list[Row]:
        return [row for row in self.worst_first if row.faults][:MOST_WITH_FINDINGS]

    @property
    def rules(self) -> list[RuleLine]:
        """The rules: those that block most units first, then those that most units break."""
        before = self.report.trend.rules if self.report.trend else None
        by_rule: dict[str, list[tuple[str, SweptFinding]]] = {code: [] for code in before or ()}
        for row in self.report.rows:
            for fault in row.faults:
                by_rule.setdefault(fault.rule, []).append((row.name, fault))
        lines = [
            RuleLine(
                code,
                len({name for name, fault in found if fault.blocks}),
                len({name for name, _ in found}),
                len(found),
                sum(fault.certainty is Certainty.CERTAIN for _, fault in found),
                None if before is None else before.get(code, 0),
            )
            for code, found in by_rule.items()
        ]
        return sorted(lines, key=lambda line: (-line.blocked, -line.units, -line.faults, line.code))

    @property
    def changed(self) -> list[tuple[Row, Change]]:
        """Units that are not as they were: those that are blocked now first, then those with most new faults."""
        pairs = [(row, self._changes[row.name]) for row in self.worst_first if row.name in self._changes]
        found = [(row, each) for row, each in pairs if each.new or each.gone or each.before is not row.answer]
        return sorted(found, key=lambda pair: (not _is_blocked_now(*pair), -pair[1].new, pair[1].gone))

    def blocking(self, row: Row) -> str:
        """`1 critical, 2 high`; empty where nothing blocks."""
        counts = zip(FAULTS, _by_severity(row.blocking), strict=True)
        return ", ".join(f"{count} {severity.value}" for severity, count in counts if count)

    def others(self, row: Row) -> list[int]:
        """The faults that do not block, of each severity."""
        return _by_severity(_others(row))

    def reason(self, row: Row) -> str:
        """Why a unit is not known, or which of its files are not."""
        files = "; ".join(row.not_analysed[:MOST_FINDINGS])
        more = len(row.not_analysed) - MOST_FINDINGS
        files += f"; and {more} more" if more > 0 else ""
        return row.reason + (": " if row.reason and files else "") + files

    def shown(self, row: Row) -> list[SweptFinding]:
        """Its faults, those that block first."""
        return sorted(row.faults, key=lambda each: (not each.blocks, *_grade(each)))[:MOST_FINDINGS]


def markdown(report: SweepReport) -> str:
    return filled("sweep.md.j2", page=SweepPage(report), severities=FAULTS)


def html(report: SweepReport) -> str:
    """The Markdown page as one HTML file that fetches nothing: what is hostile in it is escaped already."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark").enable("table").render(markdown(report))
    title = html_text(f"Sweep: {SweepPage(report).counts}")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}</body>\n</html>\n'


def as_json(report: SweepReport) -> str:
    return text_of(report.model_dump(mode="json"))


FILES = {"sweep.json": as_json, "sweep.md": markdown, "sweep.html": html}
"""The files of a report, and what renders each."""


def _others(row: Row) -> list[SweptFinding]:
    return [fault for fault in row.faults if not fault.blocks]


def _by_severity(faults: Iterable[SweptFinding]) -> list[int]:
    found = Counter(fault.severity for fault in faults)
    return [found[severity] for severity in FAULTS]


def _grade(fault: SweptFinding) -> tuple[int, bool]:
    """Sorts faults by harm, and equal ones by certainty."""
    return fault.severity.rank, fault.certainty is not Certainty.CERTAIN


def _is_blocked_now(row: Row, change: Change) -> bool:
    return row.answer is Answer.BLOCK and change.before is not Answer.BLOCK


def _harm(row: Row) -> tuple[int, list[int], list[int], str]:
    """Sorts units by answer, then by what blocks, then by the other faults: one worse fault outweighs any number."""
    blocking, others = ([-count for count in _by_severity(faults)] for faults in (row.blocking, _others(row)))
    return list(Answer).index(row.answer), blocking, others, row.name

"""Findings in a few words: what they come to, and what each asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from verifygate.base.counts import counted
from verifygate.model import Applicability, Finding, Severity
from verifygate.model.check_report import CheckReport
from verifygate.report.escape import LONG, plain

if TYPE_CHECKING:
    from verifygate.model import Check, Excerpt  # a check loads no pydantic
    from verifygate.model.source_facts import LeftOut


MOST_RULES = 3
"""Patterns that leave files out, and are named in a line."""
_WORST = ("FAIL", "PARTIAL", "NOT MEASURED", "NOT APPLICABLE", "PASS")


def advice(finding: Finding) -> str:
    """Message and remedy in one line, for readers that have room for one."""
    told = finding.message + (f"; also at {elsewhere(finding, 3)}" if finding.places else "")
    told = f"{told}; remedy: {finding.remedy}" if finding.remedy else told
    return f"{told}; likely: settled by {' or '.join(finding.settled_by)}" if finding.settled_by else told


def elsewhere(finding: Finding, most: int) -> str:
    """`a.py:3, b.py:7 and 4 more`: the further locations of a finding."""
    shown = ", ".join(f"{place.path}:{place.line}" for place in finding.places[:most])
    more = len(finding.places) - most
    return f"{shown} and {more} more" if more > 0 else shown


def tally(findings: Sequence[Finding]) -> str:
    """`1 critical, 1 high`: the severities that occur, worst first."""
    counts = [(severity, sum(1 for f in findings if f.severity is severity)) for severity in Severity]
    return ", ".join(f"{count} {severity}" for severity, count in counts if count)


def check_counts(report: CheckReport, asides: Sequence[str]) -> str:
    """The last line of `check` for people: `2 findings (1 critical, 1 high) in 3 files; 1 suppressed`."""
    found = counted(len(report.findings), "finding")
    head = f"{found} ({tally(report.findings)})" if report.findings else "No findings"
    if not report.findings and (report.stood_before or report.in_baseline):
        head = "No new findings"
    parts = [f"{head} in {counted(report.files_checked, 'file')}"]
    if report.not_analysed:
        parts.append(f"{counted(len(report.not_analysed), 'file')} not analysed")
    if report.left_out:
        parts.append(left_out_words(report.left_out))
    if report.not_followed:
        parts.append(f"{counted(len(report.not_followed), 'place')} not followed")
    if given_up := sum(each.whole for each in report.not_followed):
        parts.append(f"{counted(given_up, 'function')} given up")
    line = "; ".join([*parts, *_fixable(report.findings), *(plain(aside, LONG) for aside in asides)])
    return line if report.findings else f"{line}."


def left_out_words(left: Sequence[LeftOut], verb: str = " left out") -> str:
    """3 files left out (2 by `.gitignore:1: /made/`, 1 by `[project] exclude: /old/`)."""
    rules = [f"{each.files} by `{plain(each.rule)}`" for each in left[:MOST_RULES]]
    more = [f"{sum(each.files for each in left[MOST_RULES:])} by other patterns"] if len(left) > MOST_RULES else []
    return f"{counted(sum(each.files for each in left), 'file')}{verb} ({', '.join([*rules, *more])})"


def _fixable(findings: Sequence[Finding]) -> list[str]:
    """How many findings `verifygate fix` would take care of, as `with_fixes` found out."""
    safe, unsafe = (sum(each.fix is kind for each in findings) for kind in (Applicability.SAFE, Applicability.UNSAFE))
    if safe:
        more = f", {unsafe} more with `--unsafe`" if unsafe else ""
        return [f"{safe} fixable with `verifygate fix`{more}"]
    return [f"{unsafe} fixable with `verifygate fix --unsafe`"] if unsafe else []


def statuses(checks: Sequence[Check]) -> str:
    """`3 FAIL, 7 PARTIAL and 10 NOT MEASURED`."""
    counts = Counter(check.status.value for check in sorted(checks, key=lambda check: _WORST.index(check.status)))
    return words(f"{count} {status}" for status, count in counts.items())


def words(values: Iterable[str]) -> str:
    """`a, b and c`."""
    *most, last = list(values) or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def listing(excerpts: Sequence[Excerpt]) -> str:
    """Excerpts with their paths and line numbers; `>` stands before the lines that the finding is about."""
    width = max((len(str(each.line + len(each.lines))) for each in excerpts), default=0)
    blocks = []
    for each in excerpts:
        rows = enumerate(each.lines, each.line)
        told = [f"{'>' if n in each.marked else ' '} {n:{width}} | {text}".rstrip() for n, text in rows]
        blocks.append("\n".join([each.path, *told]))
    return "\n\n".join(blocks)

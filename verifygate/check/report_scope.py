"""What of an analysis `check` reports: what concerns the files that were asked for, under the paths that were typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from verifygate.base.records import replace
from verifygate.model.check_report import CheckReport
from verifygate.model.finding import SETTLED_BY, Detail, Finding
from verifygate.model.precision_contract import ContractRow, PrecisionContract
from verifygate.model.source_facts import NotFollowed

if TYPE_CHECKING:
    from verifygate.check.project import Asked


def concerns(finding: Finding, asked: Asked) -> bool:
    """Whether a finding stands in a file that was asked for, or whether the path that leads to it passes through one.

    The call in this file that breaks the protocol inside a helper elsewhere is a fault of this file as well.
    """
    paths = [*(each.path for each in finding.locations), *(each.path for each in finding.steps)]
    return asked.scope is None or any(map(asked.is_asked, paths))


def within(report: CheckReport, asked: Asked) -> CheckReport:
    """The part of a report that is about the files that were asked for."""
    if asked.scope is None:
        return report
    rows = report.contract.rows
    told_here = any(asked.is_asked(each.path) for row in rows for each in row.declared)
    lost = tuple(each for each in report.not_analysed if asked.is_asked(each.path))
    unread = {each.path for each in lost}
    return replace(
        report,
        files_checked=sum(asked.is_named(file.path) and file.path not in unread for file in asked.sources),
        findings=tuple(each for each in report.findings if concerns(each, asked)),
        not_analysed=lost,
        not_followed=tuple(each for each in report.not_followed if asked.is_asked(each.path)),
        left_out=() if all((asked.root / each).is_file() for each in asked.scope) else report.left_out,
        contract=report.contract if told_here else PrecisionContract(),
    )


def as_typed(report: CheckReport, shown: Callable[[str], str] | None) -> CheckReport:
    """A report with its paths as a person would type them where the command was given."""
    if shown is None:
        return report
    return replace(
        report,
        findings=tuple(_finding(each, shown) for each in report.findings),
        not_analysed=tuple(replace(each, path=shown(each.path)) for each in report.not_analysed),
        not_followed=_gaps(report.not_followed, shown),
        left_out=tuple(replace(each, examples=tuple(map(shown, each.examples))) for each in report.left_out),
        contract=PrecisionContract(rows=tuple(_row(row, shown) for row in report.contract.rows)),
    )


def _finding(finding: Finding, shown: Callable[[str], str]) -> Finding:
    return replace(
        finding,
        path=shown(finding.path),
        steps=tuple(replace(each, path=shown(each.path)) for each in finding.steps),
        places=tuple(replace(each, path=shown(each.path)) for each in finding.places),
        details=tuple(_detail(each, shown) for each in finding.details),
    )


def _detail(detail: Detail, shown: Callable[[str], str]) -> Detail:
    """What settles a finding names commands, and places, as they are from the root."""
    if detail.label != SETTLED_BY:
        return detail
    *others, last = detail.values
    return replace(detail, values=(*others, f"{last}, from the folder `{shown('.')}`"))


def _row(row: ContractRow, shown: Callable[[str], str]) -> ContractRow:
    declared = tuple(replace(each, path=shown(each.path)) for each in row.declared)
    return replace(row, declared=declared, not_followed=_gaps(row.not_followed, shown))


def _gaps(gaps: tuple[NotFollowed, ...], shown: Callable[[str], str]) -> tuple[NotFollowed, ...]:
    return tuple(replace(each, path=shown(each.path)) for each in gaps)

"""Plain text for a terminal: the findings of `verifygate check`."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.base.counts import counted
from verifygate.model import Finding
from verifygate.model.check_report import CheckReport
from verifygate.report.contract import ContractInWords
from verifygate.report.escape import LONG, plain
from verifygate.report.phrases import check_counts

MOST_PLACES = 10
"""Further locations of one finding that are printed."""

MOST_GAPS = 5
"""Places that were not followed of which the text says where and why."""


def render_check(report: CheckReport, asides: Sequence[str] = ()) -> str:
    """For people: a line to click on, what to do, and the way that leads there; the counts at the end."""
    found = sorted(report.findings, key=lambda f: f.order)
    blocks = [_block(finding) for finding in found if not finding.beside_amp]
    if beside := [_block(finding) for finding in found if finding.beside_amp]:
        blocks += ["In files without AMP code of their own:\n\n", *beside]
    # Without the contract, no finding may mean that nothing was looked at.
    contract = f"{contract_lines(report)}\n" if report.contract.rows else ""
    moved = "".join(f"    {plain(each, LONG)}\n" for each in report.contract_changes)
    contract += f"Moved in the precision contract:\n{moved}\n" if moved else ""
    return "".join(blocks) + _gaps(report) + contract + check_counts(report, asides) + "\n"


def _gaps(report: CheckReport) -> str:
    """The first places that were not followed: of them, that nothing was found says nothing."""
    gaps = sorted(report.not_followed, key=lambda each: not each.whole)  # first what no rule has looked at
    if not gaps:
        return ""
    rows = [f"{counted(len(gaps), 'place')} not followed:"]
    rows += [f"    {plain(each.path, LONG)}:{each.line}: {plain(each.reason, LONG)}" for each in gaps[:MOST_GAPS]]
    if (more := len(gaps) - MOST_GAPS) > 0:
        rows.append(f"    and {more} more: see `--format json`")
    return "\n".join(rows) + "\n\n"


def contract_lines(report: CheckReport) -> str:
    """Who drives the precision, and what nobody judges; empty where nothing declares one."""
    if not report.contract.rows:
        return ""
    lines = [f"    {label:16}{plain(text, LONG)}" for label, text in ContractInWords(report.contract).text_lines()]
    return "\n".join(["Precision contract, as declared:", *lines]) + "\n"


def _block(finding: Finding) -> str:
    where = f"{plain(finding.path, LONG)}:{finding.line}:{finding.column}"
    kind = f"[{finding.severity}, {finding.certainty}]"
    rows = [f"{where}: {finding.rule} {finding.name} {kind} {plain(finding.message, LONG)}"]
    if finding.remedy:
        rows.append(f"    remedy: {plain(finding.remedy, LONG)}")
    places = [f"{plain(step.path, LONG)}:{step.line}" for step in finding.steps]
    width = max(map(len, places), default=0)
    for count, (place, step) in enumerate(zip(places, finding.steps, strict=True), 1):
        rows.append(f"    {count:2}. {place:{width}}  {plain(step.text, LONG)}")
    rows += [
        f"    also: {plain(each.path, LONG)}:{each.line}  {plain(each.text, LONG)}"
        for each in finding.places[:MOST_PLACES]
    ]
    if (more := len(finding.places) - MOST_PLACES) > 0:
        rows.append(f"    and {counted(more, 'more place')}: see `--format json`")
    rows += [f"    {plain(detail.label)}: {plain(', '.join(detail.values), LONG)}" for detail in finding.details]
    return "\n".join(rows) + "\n\n"

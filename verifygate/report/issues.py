"""What machine formats list, the same for all of them: findings, and what else blocks, at paths from the git root.

Whoever shows an annotation looks for its file from the root of the repository; a report names files from the root of
the project, which may lie in a folder of the repository.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from verifygate.base.records import replace
from verifygate.model.check_report import CheckReport
from verifygate.model.finding import Certainty, Finding, Place, Severity
from verifygate.model.fingerprint import fingerprint
from verifygate.report.threshold import threshold
from verifygate.sources.repository import path_in_repository, root_above

if TYPE_CHECKING:
    from verifygate.model import Check, Reason, Report
    from verifygate.report.view import View

UNCONFIGURED = "verifygate.toml"
"""Where a reason without a place is shown, for every reader wants one: it can be answered there."""


class Issue(NamedTuple):
    """One thing to show at a line."""

    finding: Finding
    """Of a rule; or a reason to block, in the same shape: its rule is the id of the check, or the condition."""
    blocks: bool
    of_rule: bool = True
    is_new: bool | None = None
    """Whether it came with the change; None where nobody knows."""

    @property
    def title(self) -> str:
        """`AMP201 clip-before-unscale`, or `execution.tests-pass`."""
        finding = self.finding
        return f"{finding.rule} {finding.name}" if self.of_rule else finding.rule


def of_report(view: View) -> list[Issue]:
    """The findings of every stage and every other reason to block: what blocks first, then the worst."""
    report = view.report
    blocking = {reason.finding for reason in report.reasons if reason.finding}
    new, stood = _changed(report)
    issues = [
        Issue(
            located(finding, report.provenance.folder),
            blocks=finding.fingerprint in blocking,
            is_new=None if not (new or stood) else not new.isdisjoint(finding.fingerprints),
        )
        for finding in view.findings
    ]
    issues += [
        Issue(located(_as_finding(reason, view), report.provenance.folder), blocks=True, of_rule=False)
        for reason in report.reasons
        if not reason.finding
    ]
    return sorted(issues, key=_order)


def of_check(report: CheckReport) -> list[Issue]:
    """The findings of `check`, worst first. What `--fail-on` names, by default each that is no note, blocks."""
    least = threshold(report.fail_on)
    top = root_above(Path.cwd().as_posix(), report.folder)  # somebody may have named a file by its absolute path
    found = (Issue(located(each, report.folder, top), blocks=least.is_met_by(each)) for each in report.findings)
    return sorted(found, key=_order)


def located(finding: Finding, folder: str, top: str = "") -> Finding:
    """The finding with every path from the root of the repository, which is `top` on this machine."""
    return replace(
        finding,
        path=path_in_repository(finding.path, folder, top),
        steps=tuple(replace(each, path=path_in_repository(each.path, folder, top)) for each in finding.steps),
        places=tuple(replace(each, path=path_in_repository(each.path, folder, top)) for each in finding.places),
        edits=tuple(replace(each, path=path_in_repository(each.path, folder, top)) for each in finding.edits),
    )


def _order(issue: Issue) -> tuple[bool, tuple[int, str, int, int, str]]:
    return not issue.blocks, issue.finding.order


def _changed(report: Report) -> tuple[frozenset[str], frozenset[str]]:
    """Fingerprints of what is new and of what stood before."""
    if report.changes is None:
        return frozenset(), frozenset()
    return _prints(report.changes.new), _prints(report.changes.open)


def _prints(findings: Iterable[Finding]) -> frozenset[str]:
    return frozenset(each for finding in findings for each in finding.fingerprints)


def _as_finding(reason: Reason, view: View) -> Finding:
    """A reason that is about no finding: about a check, a stage that could not run, a contradiction."""
    check = next((asked.check for asked in view.checks if reason.check and asked.check.id == reason.check), None)
    subject = reason.check or f"{reason.stage}.{reason.condition}"
    line = max(reason.line or 1, 1)
    return Finding(
        rule=subject,
        name=reason.condition,
        path=reason.path or _home(reason, view),
        line=line,
        column=1,
        end_line=line,
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        message=view.said(reason),
        fingerprint=fingerprint(reason.condition, subject, "" if reason.check else reason.text),
        remedy=reason.action,
        places=_further(check, reason) if check else (),
        witnesses=(),
    )


def _further(check: Check, reason: Reason) -> tuple[Place, ...]:
    """The other places that the check's evidence names, each once."""
    places: dict[tuple[str, int], Place] = {}
    for each in check.evidence:
        if each.path and (each.path, each.line) != (reason.path, reason.line):
            line = max(each.line or 1, 1)
            places.setdefault((each.path, line), Place(path=each.path, line=line, end_line=line, text=each.summary))
    return tuple(places.values())


def _home(reason: Reason, view: View) -> str:
    """Where a reason without a place can be answered."""
    if reason.stage == "requirements" and view.requirements.spec:
        return view.requirements.spec
    config = view.report.provenance.config
    return config if config and not config.startswith("none") else UNCONFIGURED

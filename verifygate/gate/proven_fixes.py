"""The safe fixes of a stage's findings, proven by further scans: a report offers no other ones."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.config.rule_selection import RuleSelection
from verifygate.fix import with_edits, with_fixes
from verifygate.model import Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.tree import Sources


def with_proven_fixes(findings: Sequence[Finding], sources: Sources, selection: RuleSelection) -> tuple[Finding, ...]:
    """The findings, with `fix` on each that can be fixed, and `edits` on each whose safe fix holds."""
    return with_edits(
        with_fixes(findings, sources, selection),
        sources,
        lambda files: _scanned(files, selection),
        selection,
    )


def _scanned(sources: Sources, selection: RuleSelection) -> CheckReport:
    from verifygate.static.engine import Means, analyse

    outcome = analyse(sources, selection, with_constructs=False, merged=False, means=Means(jobs=0))
    return CheckReport(
        files_checked=outcome.files_checked,
        findings=outcome.findings,
        not_analysed=outcome.not_analysed,
        not_followed=outcome.not_followed,
    )

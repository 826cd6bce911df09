"""What `check` finds out of fixes, for the formats that show them: it takes longer than to find the faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verifygate.fix import with_edits, with_fixes
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import Means, analyse

if TYPE_CHECKING:
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.model.check_report import CheckReport
    from verifygate.model.finding import Finding
    from verifygate.sources.tree import Sources


def fixes_for(
    findings: Sequence[Finding],
    sources: Sources,
    choice: RuleSelection,
    told: Callable[[AnalysisResult], CheckReport],
    means: Means,
    *,
    proven: bool,
) -> tuple[Finding, ...]:
    """The findings, with `fix` on each whose fix could be built; with `edits` too, where safe ones are to be `proven`.

    A proof scans with all rules of the project: a fix must not trade one finding for another.
    """
    found = with_fixes(findings, sources, choice)
    if not proven:
        return found
    rules = choice._replace(abstract_run=False)  # no rule that it witnesses has a fix

    def scan(files: Sources) -> CheckReport:
        return told(analyse(files, rules, with_constructs=False, merged=False, means=means))

    return with_edits(found, sources, scan, choice)

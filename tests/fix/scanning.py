"""The scan that proves fixes, with every rule, as `verifygate fix` makes it."""

from __future__ import annotations

from verifygate.config.settings import StaticSettings
from verifygate.model.check_report import CheckReport
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse


def scan(sources: Sources) -> CheckReport:
    """What `check` finds in these sources."""
    outcome = analyse(sources, StaticSettings(), merged=False)
    return CheckReport(
        files_checked=outcome.files_checked,
        findings=outcome.findings,
        not_analysed=outcome.not_analysed,
        not_followed=outcome.not_followed,
    )

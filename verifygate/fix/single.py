"""Fix one finding: build the fix, and prove it by a new scan of everything."""

from __future__ import annotations

from verifygate.config.rule_selection import ALL_RULES, RuleSelection
from verifygate.fix.assess import assessed
from verifygate.fix.draft import Draft, Project
from verifygate.fix.fixers import FIXES, draft_of
from verifygate.fix.prove import Scan, prove
from verifygate.model import Applicability, Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.tree import Sources


def proven_draft(
    finding: Finding, sources: Sources, report: CheckReport, scan: Scan, selection: RuleSelection = ALL_RULES
) -> Draft | None:
    """The safe fix of one finding; None where there is none, or where a new scan does not prove it.

    `report` is what `scan` says of these sources. Nothing is written.
    """
    if finding.rule not in FIXES:
        return None
    project = Project(sources, selection)
    built, _ = assessed([finding], project)
    draft = draft_of(finding, project) if built.get(finding) is Applicability.SAFE else None
    return None if draft is None or prove([draft], sources, report, scan).objections else draft

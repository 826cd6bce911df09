"""Fix one finding: build the fix, and prove it by a new scan of everything."""

from __future__ import annotations

from verifygate.config.version_pins import VersionRange
from verifygate.fix.apply import Scan, with_drafts
from verifygate.fix.assess import assessed
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.fixers import FIXES, fixer, tree_of
from verifygate.fix.prove import objections
from verifygate.model import Applicability, Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.tree import Sources


def proven_draft(finding: Finding, sources: Sources, report: CheckReport, scan: Scan, torch: str = "") -> Draft | None:
    """The safe fix of one finding; None where there is none, or where a new scan does not prove it.

    `report` is what `scan` says of these sources. Nothing is written.
    """
    file = sources.get(finding.path)
    if finding.rule not in FIXES or file is None:
        return None
    project = Project(sources, VersionRange.of(torch))
    built, _ = assessed([finding], project)
    if built.get(finding) is not Applicability.SAFE:
        return None
    try:
        draft = fixer(finding.rule).draft(tree_of(file), [finding], project)
    except CannotFixError:
        return None
    after = scan(with_drafts(sources, [draft]))
    return None if any(objections(draft, sources, report, after)) else draft

"""Say of each finding whether it can be fixed, by building the fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from verifygate.base.garbage import collection_paused
from verifygate.fix.draft import CannotFixError
from verifygate.fix.fixers import FIXES, fixer, tree_of
from verifygate.model import Applicability, Finding
from verifygate.sources.tree import Sources


def with_fixes(findings: Iterable[Finding], sources: Sources) -> tuple[Finding, ...]:
    """The findings, with `fix` set on each whose fix could be built. Only files with such findings are parsed."""
    found = tuple(findings)
    safety: dict[int, Applicability] = {}
    for path in sorted({finding.path for finding in found if finding.rule in FIXES}):
        numbers = [at for at, finding in enumerate(found) if finding.path == path and finding.rule in FIXES]
        with collection_paused():
            built, _ = assessed([found[at] for at in numbers], sources)
        safety |= {at: built[found[at]] for at in numbers if found[at] in built}
    return tuple(replace(finding, fix=safety[at]) if at in safety else finding for at, finding in enumerate(found))


def assessed(findings: Sequence[Finding], sources: Sources) -> tuple[dict[Finding, Applicability], dict[Finding, str]]:
    """The findings of one file: how safe the fix of each is, or why there is none."""
    built: dict[Finding, Applicability] = {}
    reasons: dict[Finding, str] = {}
    file = sources.get(findings[0].path)
    try:
        if file is None:
            raise CannotFixError("the file is not among those read")
        tree = tree_of(file, dry=True)
    except CannotFixError as error:
        return {}, dict.fromkeys(findings, str(error))
    for finding in findings:
        try:
            built[finding] = fixer(finding.rule).draft(tree, [finding], sources).safety
        except CannotFixError as error:
            reasons[finding] = str(error)
    return built, reasons

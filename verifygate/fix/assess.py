"""Say of each finding whether it can be fixed, by building the fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from verifygate.base.garbage import collection_paused
from verifygate.config.rule_selection import ALL_RULES, RuleSelection
from verifygate.fix.draft import CannotFixError, Project
from verifygate.fix.fixers import FIXES, drafted, tree_of
from verifygate.model import Applicability, Certainty, Finding
from verifygate.sources.tree import Sources


def with_fixes(
    findings: Iterable[Finding], sources: Sources, selection: RuleSelection = ALL_RULES
) -> tuple[Finding, ...]:
    """The findings, with `fix` set on each whose fix could be built. Only files with such findings are parsed.

    `selection` says which versions of torch the files may run on.
    """
    found, project = tuple(findings), Project(sources, selection)
    safety: dict[int, Applicability] = {}
    for path in sorted({finding.path for finding in found if finding.rule in FIXES}):
        numbers = [at for at, finding in enumerate(found) if finding.path == path and finding.rule in FIXES]
        with collection_paused():
            built, _ = assessed([found[at] for at in numbers], project)
        safety |= {at: built[found[at]] for at in numbers if found[at] in built}
    return tuple(replace(finding, fix=safety[at]) if at in safety else finding for at, finding in enumerate(found))


def assessed(findings: Sequence[Finding], project: Project) -> tuple[dict[Finding, Applicability], dict[Finding, str]]:
    """The findings of one file: how safe the fix of each is, or why there is none.

    No fix of a finding that is only likely is safe: the code may be right as it stands.
    """
    built: dict[Finding, Applicability] = {}
    reasons: dict[Finding, str] = {}
    file = project.sources.get(findings[0].path)
    try:
        if file is None:
            raise CannotFixError("the file is not among those read")
        tree = tree_of(file, dry=True)
    except CannotFixError as error:
        return {}, dict.fromkeys(findings, str(error))
    for finding in findings:
        try:
            safety = drafted(finding.rule, tree, [finding], project).safety
            built[finding] = safety if finding.certainty is Certainty.CERTAIN else Applicability.UNSAFE
        except CannotFixError as error:
            reasons[finding] = str(error)
    return built, reasons

"""Fix in rounds: build, prove against a new scan of everything, keep what is proven, until nothing is left to do.

A round takes at most one draft from each file, so that the next one is built on what the scan says of the new text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from verifygate.config.rule_selection import ALL_RULES, RuleSelection
from verifygate.fix.assess import assessed
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.fixers import FIXES, drafted, fixer, tree_of
from verifygate.fix.prove import Scan, prove
from verifygate.model import Applicability, Certainty, Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

_LOOK = "look at what `verifygate fix --diff --unsafe` would write"


@dataclass(frozen=True)
class Repair:
    """What fixing came to."""

    before: Sources
    after: Sources
    report: CheckReport
    """The scan of `after`."""
    fixed: tuple[Finding, ...]
    refused: tuple[tuple[Finding, str], ...]
    """Findings of rules with a fix that are left, and why each was not fixed: nothing was changed for them."""
    lines: Mapping[str, int]
    """Fingerprint of a finding -> its line before anything was changed."""

    @property
    def changed(self) -> tuple[tuple[SourceFile, SourceFile], ...]:
        """Each changed file, before and after."""
        pairs = ((old, self.after.get(old.path)) for old in self.before)
        return tuple((old, new) for old, new in pairs if new is not None and new.data != old.data)


def repaired(
    sources: Sources,
    scan: Scan,
    codes: Collection[str],
    *,
    unsafe: bool = False,
    selection: RuleSelection = ALL_RULES,
) -> Repair:
    """Fix what can be fixed of the findings with these codes, by what the files may run on. Nothing is written."""
    work = _Work(sources, scan, frozenset(codes) & set(FIXES), unsafe, selection)
    while work.round():
        pass
    return Repair(sources, work.sources, work.report, tuple(work.fixed), tuple(work.left()), work.lines)


class _Work:
    def __init__(
        self, sources: Sources, scan: Scan, codes: Collection[str], unsafe: bool, selection: RuleSelection
    ) -> None:
        self.sources = sources
        self.report = scan(sources)
        self.lines = {each.fingerprint: each.line for each in self.report.findings}
        self.fixed: list[Finding] = []
        self.refused: dict[str, tuple[Finding, str]] = {}
        self._scan = scan
        self._codes = codes
        self._unsafe = unsafe
        self._selection = selection
        self._apart: set[tuple[str, str]] = set()
        """Path and code of a joint draft that failed: its findings are then tried one by one."""

    def round(self) -> bool:
        """Try one draft in each file. Returns whether there was anything to try."""
        drafts = [draft for own in self._open() if (draft := self._draft(own)) is not None]
        if not self._kept(drafts) and len(drafts) > 1:
            for draft in drafts:  # one of them is at fault: each on its own
                self._kept([draft])
        return bool(drafts)

    def left(self) -> Iterator[tuple[Finding, str]]:
        """Each finding that is left, and why."""
        yield from self.refused.values()
        for own in self._open():
            built, reasons = assessed(own, self._project)
            for finding in own:
                if finding in reasons:
                    yield finding, reasons[finding]
                elif finding.certainty is not Certainty.CERTAIN:
                    yield finding, f"the finding is only likely: {_LOOK}"
                elif built[finding] is Applicability.UNSAFE:
                    yield finding, f"the fix may change what right code does: {_LOOK}"
                else:
                    yield finding, "another fix in this file has to come first: run `verifygate fix` again"

    @property
    def _project(self) -> Project:
        return Project(self.sources, self._selection)

    def _open(self) -> list[list[Finding]]:
        """The findings that nothing speaks against so far, file by file."""
        found: dict[str, list[Finding]] = {}
        for each in self.report.findings:
            if each.rule in self._codes and each.fingerprint not in self.refused:
                found.setdefault(each.path, []).append(each)
        return [found[path] for path in sorted(found)]

    def _draft(self, findings: list[Finding]) -> Draft | None:
        """The next fix of one file: the findings of the first code that has one."""
        built, _ = assessed(findings, self._project)
        allowed = [each for each in findings if self._unsafe or built.get(each) is Applicability.SAFE]
        allowed = [each for each in allowed if each in built]
        for code in sorted({finding.rule for finding in allowed}):
            own = [finding for finding in allowed if finding.rule == code]
            together = fixer(code).TOGETHER and (own[0].path, code) not in self._apart
            file = self.sources.get(own[0].path)
            assert file is not None  # noqa: S101 - a fix was built for it
            try:
                return drafted(code, tree_of(file), own if together else own[:1], self._project)
            except CannotFixError as error:
                self._refuse(own if together else own[:1], str(error))
        return None

    def _kept(self, drafts: list[Draft]) -> bool:
        """Prove the drafts together, and keep them if they hold."""
        if not drafts:
            return True
        after, report, reasons = prove(drafts, self.sources, self.report, self._scan)
        if not reasons:
            self.sources, self.report = after, report
            self.fixed += [finding for draft in drafts for finding in draft.findings]
            self.refused.clear()  # what failed may hold now that another fault is gone
            return True
        if len(drafts) == 1:
            self._refuse(drafts[0].findings, reasons[0])
        return False

    def _refuse(self, findings: Iterable[Finding], reason: str) -> None:
        found = list(findings)
        if len(found) > 1:
            self._apart.add((found[0].path, found[0].rule))
        else:
            self.refused[found[0].fingerprint] = (found[0], reason)

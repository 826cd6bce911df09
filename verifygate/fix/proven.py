"""Prove safe fixes one by one, and keep each as the lines that it replaces: what a reader can be offered to apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from verifygate.config.rule_selection import ALL_RULES, RuleSelection
from verifygate.fix.draft import Draft, Project
from verifygate.fix.fixers import draft_of
from verifygate.fix.prove import Scan, prove
from verifygate.model import Applicability, Edit, Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.tree import Sources

APART = 5
"""Lines that may stand between two changed stretches that are offered as one."""
MAX_SCANS = 8
"""Scans of the whole project that proofs may take; a fix that is not reached is not offered."""


def with_edits(
    findings: Sequence[Finding], sources: Sources, scan: Scan, selection: RuleSelection = ALL_RULES
) -> tuple[Finding, ...]:
    """The findings, with `edits` on each safe fix that holds by itself, and together with the others of its file.

    Somebody may apply one of them, or all. Where all of a file do not hold together, only the first one is offered.
    """
    drafts = _Drafts(findings, Project(sources, selection))
    if not drafts.by_finding:
        return tuple(findings)
    proofs = _Proofs(sources, scan)
    held: dict[str, list[int]] = {}
    for round_ in drafts.rounds():
        for number in proofs.of({number: drafts.by_finding[number] for number in round_}):
            held.setdefault(findings[number].path, []).append(number)
    kept = {number for numbers in held.values() for number in proofs.together(numbers, drafts, findings)}
    return tuple(
        replace(finding, edits=edits_of(sources, drafts.by_finding[number])) if number in kept else finding
        for number, finding in enumerate(findings)
    )


def edits_of(sources: Sources, draft: Draft) -> tuple[Edit, ...]:
    """What a draft replaces, in whole lines; empty where the file is no UTF-8, or its lines are counted otherwise."""
    old = sources.get(draft.path)
    if old is None or old.data.count(b"\r") != old.data.count(b"\r\n"):
        return ()
    try:
        before, after = _lines(old.data), _lines(draft.data)
    except UnicodeDecodeError:
        return ()
    edits: list[Edit] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        text = "".join(after[new_start:new_end])
        if start == end or not text:  # a suggestion needs a line to stand at, and one to leave there
            if end < len(before):
                text, end = text + before[end], end + 1
            else:
                text, start = before[start - 1] + text, start - 1
        if edits and start - edits[-1].end_line <= APART:  # one of two suggestions alone would be half a fix
            last = edits.pop()
            if start < last.end_line:
                return ()
            text, start = last.text + "".join(before[last.end_line : start]) + text, last.line - 1
        edits.append(Edit(path=draft.path, line=start + 1, end_line=end, text=text))
    return tuple(edits)


def _lines(data: bytes) -> list[str]:
    """Lines as Python counts them, with their ends: `str.splitlines` knows more ends of lines."""
    *whole, last = data.decode("utf-8").split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


class _Drafts:
    """The safe fixes of findings, each built by itself."""

    def __init__(self, findings: Sequence[Finding], project: Project) -> None:
        self.by_finding: dict[int, Draft] = {}
        for number, finding in enumerate(findings):
            if finding.fix is Applicability.SAFE and (draft := draft_of(finding, project)) is not None:
                self.by_finding[number] = draft

    def rounds(self) -> list[list[int]]:
        """The numbers of the findings in rounds: at most one of a file in each, so that one scan proves several."""
        rounds: list[list[int]] = []
        depth: dict[str, int] = {}
        for number, draft in self.by_finding.items():
            at = depth[draft.path] = depth.get(draft.path, -1) + 1
            rounds.extend([] for _ in range(at + 1 - len(rounds)))
            rounds[at].append(number)
        return rounds


@dataclass
class _Proofs:
    """Scans of the project with drafts applied, as long as there are scans left."""

    sources: Sources
    scan: Scan
    taken: int = 0
    before: CheckReport | None = None

    def of(self, drafts: dict[int, Draft]) -> list[int]:
        """Which of these drafts of different files hold: all, or each that does by itself."""
        if self._hold(list(drafts.values())):
            return list(drafts)
        return [number for number, draft in drafts.items() if len(drafts) > 1 and self._hold([draft])]

    def together(self, numbers: Sequence[int], drafts: _Drafts, findings: Sequence[Finding]) -> Sequence[int]:
        """The fixes of one file that may all be applied: all that held, or the first alone."""
        if len(numbers) < 2:
            return numbers
        whole = _joined(self.sources, [drafts.by_finding[number] for number in numbers], [findings[n] for n in numbers])
        return numbers if whole is not None and self._hold([whole]) else numbers[:1]

    def _hold(self, drafts: Sequence[Draft]) -> bool:
        if self.taken >= MAX_SCANS:
            return False
        self.taken += 1
        if self.before is None:
            self.before = self.scan(self.sources)
        return not prove(drafts, self.sources, self.before, self.scan).objections


def _joined(sources: Sources, drafts: Sequence[Draft], findings: Sequence[Finding]) -> Draft | None:
    """One draft of several of a file; None where two of them replace the same line."""
    old = sources.get(drafts[0].path)
    edits = sorted((edit for draft in drafts for edit in edits_of(sources, draft)), key=lambda edit: edit.line)
    if old is None or any(late.line <= early.end_line for early, late in pairwise(edits)):
        return None
    lines = _lines(old.data)
    for edit in reversed(edits):
        lines[edit.line - 1 : edit.end_line] = [edit.text]
    return Draft(
        path=drafts[0].path,
        findings=tuple(findings),
        data="".join(lines).encode(),
        lines=tuple(stretch for draft in drafts for stretch in draft.lines),
        safety=Applicability.SAFE,
    )

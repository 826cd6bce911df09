"""The proof of a fix: it parses, its findings are gone, no new one came, and nothing outside the edit moved."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from verifygate.fix.draft import Draft
from verifygate.model import Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

Scan = Callable[[Sources], CheckReport]
"""The static analysis, with every rule of the project: a fix must not trade one finding for another."""


class Proof(NamedTuple):
    """What a new scan says of drafts that were applied together."""

    sources: Sources
    report: CheckReport
    objections: list[str]
    """Nothing where the drafts are proven."""


def prove(drafts: Collection[Draft], sources: Sources, report: CheckReport, scan: Scan) -> Proof:
    """Apply drafts of different files, and scan everything again. `report` is what `scan` said before."""
    new = {draft.path: SourceFile(draft.path, draft.data) for draft in drafts}
    changed = Sources([new.get(file.path, file) for file in sources], sources.unreadable, sources.configuration)
    after = scan(changed)
    return Proof(changed, after, [each for draft in drafts for each in objections(draft, sources, report, after)])


def objections(draft: Draft, before: Sources, report: CheckReport, after: CheckReport) -> Iterator[str]:
    """What speaks against a draft, given the scans before and after it; nothing where it is proven."""
    old = before.get(draft.path)
    assert old is not None  # noqa: S101 - drafts are built from these sources
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the audited code: invalid escapes and the like
            ast.parse(draft.data)
    except (SyntaxError, ValueError) as error:
        yield f"the fixed file does not parse: {error}"
        return
    if draft.data == old.data:
        yield "it changes nothing"
    if outside := _changed_outside(old.data, draft):
        yield f"it changes line {outside} too"
    if len(after.not_analysed) > len(report.not_analysed):
        yield "the fixed file can no longer be analysed"
    was, now = _counts(report.findings), _counts(after.findings)
    for key, fixed in sorted(_counts(draft.findings).items()):
        if now[key] > was[key] - fixed:
            yield "the finding is still there"
    for rule, path, symbol in sorted(key for key in now if now[key] > was[key]):
        yield f"it brings a new finding: {rule} in {symbol or path}"


def _counts(findings: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    """How often each rule is broken in each function: edits elsewhere in the file do not move these."""
    return Counter((finding.rule, finding.path, finding.symbol) for finding in findings)


def _changed_outside(old: bytes, draft: Draft) -> int:
    """The first line, of the old file, that differs although the draft has no business there; 0 where there is none."""
    allowed = {line for first, last in draft.lines for line in range(first, last + 1)}
    insertions = {edge for first, last in draft.lines for edge in (first - 1, last)}
    lines, fixed = old.splitlines(keepends=True), draft.data.splitlines(keepends=True)
    for tag, start, end, _, _ in SequenceMatcher(None, lines, fixed, autojunk=False).get_opcodes():
        if tag == "insert" and start not in insertions | allowed:
            return start + 1
        if tag in ("replace", "delete"):
            strangers = [line for line in range(start + 1, end + 1) if line not in allowed]
            if strangers:
                return strangers[0]
    return 0

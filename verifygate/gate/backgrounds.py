"""The background of a report's worst findings: the code around them, proven fixes, what their rules' violations do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence

from verifygate.base.masking import masked
from verifygate.model import IN_FULL, Background, Edit, Excerpt, Finding, Impact
from verifygate.sources.file import SourceUnreadableError
from verifygate.sources.tree import Sources
from verifygate.static.registry import load_rules

AROUND = 2
"""Lines shown before and after a place: five in all."""
MOST_EXCERPTS = 4
"""Of one finding."""
WIDTH = 200
"""Characters kept of a line."""
KEY_LINES = 80
"""A private key has no more."""

Span = tuple[str, int, int, frozenset[int]]
"""Path, first and last line, the lines that are marked."""


def impacts_of(findings: Iterable[Finding]) -> tuple[Impact, ...]:
    """What the violation of each rule among them does; nothing of a rule that has no documentation."""
    known = load_rules()
    codes = sorted({finding.rule for finding in findings})
    return tuple(Impact(rule=code, text=known[code].impact) for code in codes if code in known)


def backgrounds_of(findings: Iterable[Finding], sources: Sources) -> tuple[Background, ...]:
    """Of the worst findings, in order, each once."""
    worst = {each.fingerprint: each for each in reversed(sorted(findings, key=lambda each: each.order)[:IN_FULL])}
    return tuple(
        Background(
            fingerprint=each.fingerprint, excerpts=tuple(_excerpts(each, sources)), diff=_diff(each.edits, sources)
        )
        for each in reversed(worst.values())
    )


def _diff(edits: Sequence[Edit], sources: Sources) -> str:
    """What `git apply` reads: proven edits of one file as a unified diff."""
    if not edits:
        return ""
    path = edits[0].path
    old = [f"{line}\n" for line in _lines(sources, path)]
    new = list(old)
    for edit in sorted(edits, key=lambda each: -each.line):
        new[edit.line - 1 : edit.end_line] = edit.text.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=AROUND))


def _excerpts(finding: Finding, sources: Sources) -> Iterator[Excerpt]:
    """Around the place; then around each call on the way to it, and where that leads."""
    places = [(finding.path, finding.line)]
    within = True
    for step in finding.steps:
        if step.path != finding.path or _is_call(step.text) or not within:
            places.append((step.path, step.line))
        within = not _is_call(step.text)
    for path, first, last, marked in _joined(places)[:MOST_EXCERPTS]:
        lines = _masked_lines(_lines(sources, path), first - 1, last)
        if lines:
            yield Excerpt(
                path=path,
                line=first,
                lines=tuple(line.rstrip()[:WIDTH] for line in lines),
                marked=tuple(sorted(marked)),
            )


def _is_call(text: str) -> bool:
    """Whether the step of a path enters a function: its caller is to be seen."""
    return text.startswith("call: ")


def _joined(places: Sequence[tuple[str, int]]) -> list[Span]:
    """The five lines around each place; what touches is one, in the order of the first place of each."""
    spans: list[Span] = []
    for path, line in places:
        new: Span = (path, max(1, line - AROUND), line + AROUND, frozenset({line}))
        at = next((n for n, each in enumerate(spans) if _touch(each, new)), None)
        if at is None:
            spans.append(new)
        else:
            _, first, last, marked = spans[at]
            spans[at] = (path, min(first, new[1]), max(last, new[2]), marked | new[3])
    return spans


def _touch(one: Span, other: Span) -> bool:
    return one[0] == other[0] and one[1] <= other[2] + 1 and other[1] <= one[2] + 1


def _masked_lines(lines: Sequence[str], start: int, end: int) -> Sequence[str]:
    """Some lines of a file, masked before they are cut: half a secret has no form, nor has a line of a private key."""
    shown = lines[start:end]
    around = lines[max(0, start - KEY_LINES) : end + KEY_LINES]
    if any("PRIVATE KEY" in line for line in around):
        before = len(lines[max(0, start - KEY_LINES) : start])
        return masked("\n".join(line.rstrip("\n") for line in around)).split("\n")[before : before + len(shown)]
    return [masked(line) for line in shown]


def _lines(sources: Sources, path: str) -> Sequence[str]:
    try:
        file = sources.get(path)
        if file is not None:
            return file.lines
    except SourceUnreadableError:
        return ()
    return next((each.lines for each in sources.configuration if each.path == path), ())

"""A number of things beside the list of these things: `Passed Tests (16)` over 16 lines, `All 4 fixes:` over four."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Items, Section, Sentence, Table
from verifygate.claims.numbers import every
from verifygate.model.claims import ClaimKind, ClaimVerdict

_IN_BRACKETS = re.compile(
    r"(?P<noun>[A-Za-z]+s|criteria)\s*\((?P<count>\d{1,3})(?:\s+(?P<word>items?|total|found"
    r"|issues?|files?|tests?|entries))?\)\W*$",
    re.IGNORECASE,
)
_ITEMS = re.compile(r"\((?P<count>\d{1,3})\s+(?:items?|entries|total)\)", re.IGNORECASE)
_TOTAL_OF = re.compile(r"^total (?P<noun>[a-z]+s): (?P<count>\d{1,3})$", re.IGNORECASE)
_ALL = re.compile(
    r"^\W*(?:all|the|these|the following|following)?\s*(?P<count>\d{1,2}|two|three|four|five|six"
    r"|seven|eight|nine|ten|twelve)\s+"
    r"(?:[\w/-]+\s+){0,4}?(?P<noun>[a-z]+s|criteria)\b[^:.;()]*:$",
    re.IGNORECASE,
)
_WORDS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
}
_OPEN_ENDED = re.compile(
    r"\.\.\.|…|\betc\b|\band \d+ (?:more|others)|\bmore\b|\bothers?\b|\bkey\b|\btop\b"
    r"|\bexamples?\b|\bselected\b|\bmain\b|\bnotable\b|\bincluding\b|\bsample\b|\bhighlights\b"
    r"|\bother\b|\bremaining\b",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"^\W*(?:\d+[.)]\s*)?\[(?P<mark>CRITICAL|HIGH|MEDIUM|LOW)\]|^\W*(?P<word>CRITICAL|HIGH|MEDIUM"
    r"|LOW) (?:issue|bug|finding|violation)s? #?\d",
    re.IGNORECASE,
)
_SEVERITY_COUNT = re.compile(
    r"^(?:total )?(?P<mark>critical|high|medium|low)(?:[- ]priority|[- ]severity)? (?:issues?"
    r"|bugs?|findings?|violations?)(?: found)?$"
)
_RESOLVED = re.compile(
    r"\b(?:fixed|resolved|closed|previous\w*|mitigated|addressed|eliminated|was|were|none)\b|✅", re.IGNORECASE
)


@dataclass(frozen=True)
class Counted:
    sentence: Sentence
    count: int
    open_ended: bool
    each: bool = False
    """Whether the sentence says that it lists every one: `all 4`, `the following 4`."""


def extract(document: Document, ledger: Ledger) -> None:
    for sentence in document.sentences:
        if sentence.role == "row":
            continue
        stated = _stated(sentence)
        if stated is not None:
            _beside_list(document, ledger, stated)
    _severities(document, ledger)


def _stated(sentence: Sentence) -> Counted | None:
    text = sentence.flat
    open_ended = bool(_OPEN_ENDED.search(text))
    if (found := _ITEMS.search(text)) or (sentence.role == "heading" and (found := _IN_BRACKETS.search(text))):
        return Counted(sentence, int(found["count"]), open_ended)
    if sentence.role == "heading" and (found := _TOTAL_OF.match(text)):
        return Counted(sentence, int(found["count"]), open_ended)
    if found := _ALL.match(text):
        word = found["count"].lower()
        each = re.match(r"\W*(?:all|these|the following|following)\b", text, re.IGNORECASE) is not None
        return Counted(sentence, _WORDS.get(word) or int(word), open_ended or len(list(every(text))) > 1, each)
    return None


def _beside_list(document: Document, ledger: Ledger, stated: Counted) -> None:
    groups = list(_groups(document, stated.sentence))
    if not groups or not stated.count:  # below a zero stands a line that says "none"
        return
    lines, what = groups[0]
    sizes = [len(group) for group, _ in groups]
    sentence, count = stated.sentence, stated.count
    against = [ledger.passage(lines[0])]
    if sizes[0] == count:
        reason = f"{what} below has {count}"
        ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.CONFIRMED, reason, against=against, supports=lines)
        return
    if count in sizes or sum(sizes) == count or count in _sums(lines):
        reason = f"the lines below make {count}"
        ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.CONFIRMED, reason, against=against, supports=lines)
        return
    reason = f"{what} below has {sizes[0]}, not {count}"
    vague = stated.open_ended or len(groups) > 1 or any(_OPEN_ENDED.search(line.flat) for line in lines)
    numbered = any(re.search(r"\d|,\s", line.prose) for line in lines)  # a line may stand for several
    more = sizes[0] > count and what == _NUMBERED  # fewer may be a selection, and dots may be details
    if (stated.each or more) and not vague and not numbered:
        ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.REFUTED, reason, against=against, supports=lines)
    else:
        reason += "; it may not be a list of each of them"
        ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.INCONCLUSIVE, reason, against=against)


_NUMBERED = "the numbered list"


def _groups(document: Document, sentence: Sentence) -> Iterator[tuple[Sequence[Sentence], str]]:
    """The list or table directly below; for a heading also what else its section holds."""
    heading = sentence.role == "heading"
    blocks: list[Items | Table] = [*document.lists, *document.tables]
    for block in sorted(blocks, key=_first):
        lines = _lines(block)
        if not lines or (isinstance(block, Items) and block.depth and block.before is not sentence):
            continue
        directly = block.before is sentence
        inside = heading and sentence.section in block.section.path and sentence.section.line == sentence.line
        if directly or inside:
            yield lines, "the table" if isinstance(block, Table) else _NUMBERED if block.ordered else "the list"
    if heading:
        level = sentence.section.level
        below = [s for s in document.sections if s.parent == sentence.section and s.level > level]
        if len(below) > 1:
            headings = [h for h in document.sentences if h.role == "heading" and any(s.line == h.line for s in below)]
            yield headings, "the section"


def _first(block: Items | Table) -> int:
    lines = _lines(block)
    return lines[0].index if lines else 0


def _lines(block: Items | Table) -> tuple[Sentence, ...]:
    return block.items if isinstance(block, Items) else block.rows


def _sums(lines: Sequence[Sentence]) -> set[int]:
    """What the numbers in the lines add up to, where each has one: `Unit: 30`, `Integration: 15`; and how many things
    the lines name, where each names several: `Math: add, subtract`."""
    sums: set[int] = set()
    numbers = [[int(number.value) for _, number in every(line.prose)] for line in lines]
    if all(numbers):
        sums |= {sum(row[0] for row in numbers), sum(row[-1] for row in numbers)}
    sums.add(sum(line.value.count(",") + 1 for line in lines))
    return sums


# --- `Critical issues: 2` and what is marked as critical


def _severities(document: Document, ledger: Ledger) -> None:
    marked: dict[str, list[Sentence]] = {}
    for sentence in document.sentences:
        if sentence.role == "heading" and (found := _MARKED.match(sentence.flat)):
            marked.setdefault((found["mark"] or found["word"]).lower(), []).append(sentence)
    for sentence in document.sentences:
        label = _SEVERITY_COUNT.match(sentence.label)
        number = re.match(r"^\W*(\d{1,3})\b(?!\s*[/%])", sentence.value)
        if not label or not number or sentence.role == "row" or not (found_ := marked.get(label["mark"])):
            continue
        count = int(number[1])
        against = [ledger.passage(each) for each in found_[:3]]
        headings = f"{counted(len(found_), 'heading')} marked {label['mark']}"
        if count == len(found_):
            ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.CONFIRMED, f"the report has {headings}", against=against)
        elif count == 0 and not any(_settled(document, each) for each in found_):
            ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.REFUTED, f"the report has {headings}", against=against)
        else:
            reason = f"the report has {headings}; whether these are the ones counted is not said"
            ledger.add(sentence, ClaimKind.COUNT, ClaimVerdict.INCONCLUSIVE, reason, against=against)


def _settled(document: Document, heading: Sentence) -> bool:
    """Whether anything below the heading says that the issue is no longer there."""
    section: Section = heading.section
    return any(_RESOLVED.search(each.flat) for each in document.within(section)) or bool(
        _RESOLVED.search(section.titles)
    )

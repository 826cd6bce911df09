"""How many of a list of requirements are met, beside the list: `Met: 3/8` and eight rows with a status each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Items, Section, Sentence
from verifygate.claims.numbers import NUMBER, printed, shown
from verifygate.claims.status import Ended, ended
from verifygate.model.claims import ClaimKind, ClaimVerdict

_STATED = re.compile(
    rf"(?<![\w./])(?P<part>{NUMBER})\s*(?:/|of|out of)\s*(?P<whole>\d{{1,6}})(?![\d/%]|\.\d)", re.IGNORECASE
)
_MEANT = re.compile(
    r"\b(?:met|verified|criteri\w+|requirements?|implemented|satisfied|fulfilled|coverage|covered"
    r"|compliant|complete[d]?)\b",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\b(?:not met|unmet|fail\w*|missing|remaining|partial\w*|previous\w*|before|target|tests?|score)\b", re.IGNORECASE
)
_TAIL = re.compile(r"(?:\s[-–—:]\s|:\s|→\s)(?P<tail>[^-–—:→]+)$")
FEWEST = 3


@dataclass(frozen=True)
class StatusSet:
    """A list or table in which every line has a status."""

    lines: tuple[Sentence, ...]
    ends: tuple[Ended, ...]
    section: Section
    before: Sentence | None

    @property
    def counts(self) -> Counter[Ended]:
        return Counter(self.ends)

    @property
    def told(self) -> str:
        names = {
            Ended.PASS: "met",
            Ended.PARTIAL: "partly met",
            Ended.FAIL: "not met",
            Ended.NOT_APPLICABLE: "not applicable",
        }
        return ", ".join(f"{self.counts[kind]} {name}" for kind, name in names.items() if self.counts[kind])

    @property
    def wholes(self) -> set[int]:
        return {len(self.ends), len(self.ends) - self.counts[Ended.NOT_APPLICABLE]}

    @property
    def readings(self) -> list[Fraction]:
        """What may be counted as met: the full ones, with half the partial ones, with all of them."""
        full, partial = self.counts[Ended.PASS], self.counts[Ended.PARTIAL]
        return sorted({Fraction(full), full + Fraction(partial, 2), Fraction(full + partial)})


@dataclass(frozen=True)
class Stated:
    sentence: Sentence
    part: Fraction
    whole: int
    words: str
    of: StatusSet


def extract(document: Document, ledger: Ledger) -> None:
    sets = list(status_sets(document))
    stated = [found for sentence in document.sentences for found in _stated(sentence, sets)]
    for each in stated:
        _judge(ledger, each)
    _one_set_two_counts(ledger, stated)


def _judge(ledger: Ledger, stated: Stated) -> None:
    readings = stated.of.readings
    against = [ledger.passage(stated.of.lines[0])]
    rows = f"the {len(stated.of.ends)} lines from line {stated.of.lines[0].line} on are {stated.of.told}"
    ways = " or ".join(shown(reading) for reading in readings)
    if stated.part in readings:
        half = " with a partly met one as half" if stated.part not in (readings[0], readings[-1]) else ""
        verdict, reason = ClaimVerdict.CONFIRMED, f"{rows}: {shown(stated.part)} of {stated.whole}{half}"
    else:
        verdict = ClaimVerdict.REFUTED if _beside(stated) else ClaimVerdict.INCONCLUSIVE
        reason = f"{rows}, which makes {ways} of {stated.whole}, not {shown(stated.part)}"
        if verdict is ClaimVerdict.INCONCLUSIVE:
            reason += "; whether these lines are meant is not said"
    ledger.add(
        stated.sentence, ClaimKind.COUNT, verdict, reason, words=stated.words, against=against, supports=stated.of.lines
    )


def _beside(stated: Stated) -> bool:
    """Nothing stands between the list and the count, or the count is the heading of the list."""
    first, last = stated.of.lines[0].index, stated.of.lines[-1].index
    index = stated.sentence.index
    return last < index <= last + 2 or index == first - 1


def _stated(sentence: Sentence, sets: Sequence[StatusSet]) -> Iterator[Stated]:
    if sentence.role == "row" or _NOT_MEANT.search(sentence.prose) or not _MEANT.search(sentence.flat):
        return
    matches = list(_STATED.finditer(sentence.text))
    if len(matches) != 1:
        return
    part = printed(matches[0]["part"])
    whole = int(matches[0]["whole"])
    if part is None or part.value > whole:
        return
    top = sentence.section.below(2)
    near = [
        each for each in sets if whole in each.wholes and each.section.below(2) == top and sentence not in each.lines
    ]
    if len(near) == 1:
        yield Stated(sentence, part.value, whole, sentence.flat, near[0])


def _one_set_two_counts(ledger: Ledger, stated: Sequence[Stated]) -> None:
    """Two counts of things that the report lists twice, with the same status each time."""
    for position, first in enumerate(stated):
        for second in stated[position + 1 :]:
            same = first.of is second.of or (first.of.counts == second.of.counts and len(first.of.counts) > 1)
            if not same or first.whole != second.whole or first.part == second.part:
                continue
            shares = [
                f"{shown(each.part)}/{each.whole} ({shown(each.part / each.whole * 100, 0)} %)"
                for each in (first, second)
            ]
            listed = "the same list" if first.of is second.of else f"two lists with the same statuses ({first.of.told})"
            reason = f"{listed}, counted as {shares[0]} on line {first.sentence.line} and as {shares[1]} here"
            against = [ledger.passage(first.sentence)]
            ledger.add(
                second.sentence, ClaimKind.AGREEMENT, ClaimVerdict.REFUTED, reason, words=second.words, against=against
            )


def status_sets(document: Document) -> Iterator[StatusSet]:
    for table in document.tables:
        column = table.column(r"^(?:status|result|verdict|state|outcome|met\??|pass(?:ed)?\??)$")
        if column is None or len(table.rows) < FEWEST:
            continue
        ends = [ended(cells[column]) if column < len(cells) else None for cells in table.cells]
        if all(ends):
            yield StatusSet(table.rows, tuple(end for end in ends if end), table.section, table.before)
    for listed in document.lists:
        ends = [_tail(item) for item in listed.items]
        if len(ends) >= FEWEST and all(ends):
            yield _of(listed, tuple(end for end in ends if end))


def _of(listed: Items, ends: tuple[Ended, ...]) -> StatusSet:
    return StatusSet(listed.items, ends, listed.section, listed.before)


def _tail(item: Sentence) -> Ended | None:
    found = _TAIL.search(item.flat)
    if found and (end := ended(found["tail"])) is not None:
        return end
    head = item.flat[:2]
    return ended(head.strip()) if head and not head[0].isalnum() else None

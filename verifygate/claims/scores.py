"""A score and its parts: do they add up, by any way of adding up that there is?

A breakdown is a list (`Code Quality: 20/25`, `Missing tests: -10`) or a table with points, under words that call it
one. Its total may be the sum, a share of the maxima, a mean, a weighted sum, or what is left of the maximum after
deductions. Only a total that none of these gives is refuted; where the weights are not stated, only a total that no
weights could give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Items, Section, Sentence, Table
from verifygate.claims.numbers import NUMBER, Interval, Printed, printed, shown, total
from verifygate.model.claims import ClaimKind, ClaimVerdict

_BREAKDOWN = re.compile(
    r"\bbreakdown\b|\bscor(?:e|es|ing)\b|\bpoints\b|\bdeductions?\b|\bgrad(?:e|es|ing)\b", re.IGNORECASE
)
_PLANNED = re.compile(
    r"\b(?:target|expected|projected|planned|potential|goal|improve\w*|previous|before|after|template|example)\b",
    re.IGNORECASE,
)
_OF_MAXIMUM = re.compile(rf"(?<![\w./])(?P<sign>[-−+])?(?P<points>{NUMBER})\s*/\s*(?P<most>{NUMBER})(?![\d/]|\.\d)")
_DEDUCTION = re.compile(
    rf"^\W*(?P<sign>[-−+])\s?(?P<points>{NUMBER})(?:\s*(?:points?|pts?))?(?=\s*(?:$|[(,;.]|[-–—]\s))", re.IGNORECASE
)
_SHARE = re.compile(rf"^\W*(?P<points>{NUMBER})\s*%(?=\s*(?:$|[(,;.]|[-–—]\s))")
_WEIGHT = re.compile(rf"\(?(?:weight(?:ed|ing)?:?\s*)?(?P<weight>{NUMBER})\s*%(?:\s*weight(?:ing)?)?\)?", re.IGNORECASE)
_TOTAL = re.compile(
    r"^(?:(?:final|overall|total|composite|aggregate|weighted|quality|verification|audit"
    r"|combined)\s+)*(?:score|total|rating|grade|points)$"
)
_TOTAL_VALUE = re.compile(
    rf"^\W*(?P<points>{NUMBER})\s*(?:/\s*(?P<most>{NUMBER})(?![\d/])|(?P<percent>%)|(?:points|pts)\b)?"
)
_WHOLE = re.compile(r"(?:(?:final|overall|total) )?score")
_SUMMARY = re.compile(
    r"\b(?:summary|conclusion|final|overall|verdict|assessment|decision|recommendation)\b", re.IGNORECASE
)
FEWEST = 2


_WEIGHTED = "the weighted mean of the parts"


@dataclass(frozen=True)
class Part:
    """One line of a breakdown. `most` is its maximum, None for a deduction or a bonus; `weight` in percent."""

    points: Printed
    most: Fraction | None
    weight: Fraction | None = None

    @property
    def share(self) -> Interval:
        return self.points.interval / Interval.exactly(self.most or 1)


@dataclass(frozen=True)
class Total:
    sentence: Sentence
    points: Printed
    most: Fraction
    """100 where none is stated."""
    stated_most: bool


def extract(document: Document, ledger: Ledger) -> None:
    totals = list(_totals(document))
    _repeated(ledger, totals)
    for listed in document.lists:
        parts = [_part(item) for item in listed.items]
        known = [part for part in parts if part is not None]
        if len(known) < FEWEST or not _called_breakdown(listed.before, listed.section):
            continue
        rest = [item for item, part in zip(listed.items, parts, strict=True) if part is None]
        wanted = _total_of(totals, listed)
        if wanted is None:
            continue
        rest = [item for item in rest if item is not wanted.sentence]
        known = [part for item, part in zip(listed.items, parts, strict=True) if part and item is not wanted.sentence]
        if len(known) < FEWEST or rest:
            continue  # a line that is not understood may hold points
        _judge(ledger, known, wanted, listed.items)
    for table in document.tables:
        _table(ledger, totals, table)


def _judge(ledger: Ledger, parts: Sequence[Part], wanted: Total, lines: Sequence[Sentence]) -> None:
    verdict, reason = judged(parts, wanted)
    sentence = wanted.sentence
    other = [ledger.passage(lines[0])] if lines and lines[0] is not sentence else []
    ledger.add(sentence, ClaimKind.SCORE, verdict, reason, against=other, supports=lines)


def judged(parts: Sequence[Part], wanted: Total) -> tuple[ClaimVerdict, str]:
    """Whether any way of adding up gives the total, and the arithmetic in words."""
    aim, stated = wanted.points.rounded, shown(wanted.points.value)
    ways = _ways(parts, wanted.most)
    for name, value in ways:
        if value.meets(aim):
            return ClaimVerdict.CONFIRMED, f"{stated} is {name}: {_sum(parts)}"
    with_most = [part for part in parts if part.most]
    plain = total(part.points.interval for part in parts)
    reason = f"the parts listed add up to {shown(plain.middle)} ({_sum(parts)}), not {stated}"
    most = sum((part.most or Fraction(0) for part in parts), Fraction(0))
    if with_most and most != wanted.most:
        reason += f"; their maxima add up to {shown(most)}, not {shown(wanted.most)}"
    unweighted = len(with_most) == len(parts) and len({part.most for part in parts}) == 1 and most != wanted.most
    if any(part.weight is not None for part in parts):
        weighted = next((value for name, value in ways if name == _WEIGHTED), None)
        if weighted is None:
            return ClaimVerdict.INCONCLUSIVE, f"{reason}; the weights do not cover every part"
        return ClaimVerdict.REFUTED, f"{reason}; with the weights stated they give {shown(weighted.middle)}"
    if unweighted:
        shares = [part.share for part in parts]
        low, high = min(s.low for s in shares) * wanted.most, max(s.high for s in shares) * wanted.most
        if Interval(low, high).meets(aim):
            mean = total(shares).middle / len(shares) * wanted.most
            reason = (
                f"their mean is {shown(mean)}, not {stated}; other weights are not stated, so it cannot be recomputed"
            )
            return ClaimVerdict.INCONCLUSIVE, reason
        return ClaimVerdict.REFUTED, f"no weights give {stated}: the parts lie between {shown(low)} and {shown(high)}"
    return ClaimVerdict.REFUTED, reason


def _ways(parts: Sequence[Part], most: Fraction) -> list[tuple[str, Interval]]:
    """Every way to make a total of the parts, with what it gives."""
    whole = Interval.exactly(most)
    plain = total(part.points.interval for part in parts)
    ways = [("the sum of the parts", plain)]
    graded = [part for part in parts if part.most]
    if graded:
        limit = sum((part.most or Fraction(0) for part in graded), Fraction(0))
        points = total(part.points.interval for part in graded)
        ways.append(("the points over the maxima", points / Interval.exactly(limit) * whole))
        ways.append(("the points over the maxima, less deductions", plain / Interval.exactly(limit) * whole))
        ways.append(
            ("the mean of the parts", total(part.share for part in graded) * Interval.exactly(most / len(graded)))
        )
    if all(part.most is None and part.points.value <= 0 for part in parts):
        ways.append(("the maximum less the deductions", whole + plain))
    if not graded:
        ways.append(("the mean of the parts", plain * Interval.exactly(Fraction(1, len(parts)))))
    weights = [part.weight for part in parts]
    share = sum((weight or Fraction(0) for weight in weights), Fraction(0))
    if all(weight is not None for weight in weights) and share:
        scaled = total(
            (p.share if p.most else p.points.interval / whole) * Interval.exactly(p.weight or 0) for p in parts
        )
        ways.append((_WEIGHTED, scaled * Interval.exactly(most / share)))
    return ways


def _sum(parts: Sequence[Part]) -> str:
    first, *rest = parts
    text = shown(first.points.value)
    for part in rest:
        text += f" {'-' if part.points.value < 0 else '+'} {shown(abs(part.points.value))}"
    return text


# --- where the parts and totals stand


def _called_breakdown(before: Sentence | None, section: Section) -> bool:
    words = [section.title, *([before.flat] if before is not None and before.section == section else [])]
    return any(_BREAKDOWN.search(text) for text in words) and not any(_PLANNED.search(text) for text in words)


def _part(item: Sentence) -> Part | None:
    if not item.label:
        return None
    found = _OF_MAXIMUM.match(item.value.lstrip("*` ✅❌⚠️"))
    weight = _WEIGHT.search(item.label)
    weighted = Fraction(weight["weight"].replace(",", "")) if weight else None
    if found:
        number, most = printed(found["points"]), printed(found["most"])
        if number is None or most is None or not most.value:
            return None
        return Part(_signed(found["sign"], number), most.value, weighted)
    if found := _DEDUCTION.match(item.value):
        number = printed(found["points"])
        return Part(_signed(found["sign"], number), None) if number else None
    if weighted is not None and (found := _SHARE.match(item.value)):
        number = printed(found["points"])
        return Part(number, Fraction(100), weighted) if number else None
    return None


def _signed(sign: str | None, number: Printed) -> Printed:
    return Printed(-number.value, number.step, number.about) if sign in ("-", "−") else number


def _totals(document: Document) -> Iterator[Total]:
    for sentence in document.sentences:
        label = re.sub(r"\s*\(.*?\)", "", sentence.label).strip()
        if sentence.role == "row" or not _TOTAL.match(label):
            continue
        found = _TOTAL_VALUE.match(sentence.value)
        number = printed(found["points"]) if found else None
        if found is None or number is None:
            continue
        most = printed(found["most"] or "")
        yield Total(sentence, number, most.value if most else Fraction(100), bool(most or found["percent"]))


def _total_of(totals: Sequence[Total], listed: Items) -> Total | None:
    """The total among the lines, below them, in the words above them, or the report's only one."""
    last = max(item.index for item in listed.items)
    inside = [each for each in totals if each.sentence in listed.items]
    same = [each for each in totals if each.sentence.section == listed.section and each not in inside]
    below = [each for each in same if last < each.sentence.index <= last + 3]
    above = [each for each in same if each.sentence is listed.before or each.sentence.line == listed.section.line]
    for group in (inside, below, above):
        if group:
            return group[0]
    called = re.search(r"\bscore breakdown\b|\bbreakdown of (?:the )?score", listed.section.title, re.IGNORECASE)
    values = {(each.points.value, each.most) for each in totals}
    return totals[0] if called and len(values) == 1 else None


def _table(ledger: Ledger, totals: Sequence[Total], table: Table) -> None:
    """A table with a column of scores as `20/25`: its total row, or the total near it."""
    scores = table.column(r"^(?:score|points|grade|rating)s?$")
    if scores is None or any(_PLANNED.search(title) for title in table.header):
        return
    weights = table.column(r"weight")
    parts: list[Part] = []
    wanted: Total | None = None
    for row, cells in zip(table.rows, table.cells, strict=True):
        found = _OF_MAXIMUM.match(cells[scores].strip(" *✅❌⚠️")) if scores < len(cells) else None
        number, most = (printed(found["points"]), printed(found["most"])) if found else (None, None)
        if number is None or most is None or not most.value:
            return
        if re.match(
            r"^\W*(?:grand |overall |final |weighted )?(?:total|overall|score|average)\b", cells[0], re.IGNORECASE
        ):
            wanted = Total(row, number, most.value, stated_most=True)
            continue
        cell = printed(cells[weights].strip(" *")) if weights is not None and weights < len(cells) else None
        parts.append(Part(number, most.value, cell.value if cell else None))
    if wanted is None and _called_breakdown(table.before, table.section):
        near = [
            t
            for t in totals
            if t.sentence.section == table.section and table.rows and abs(t.sentence.index - table.rows[-1].index) <= 3
        ]
        wanted = near[0] if len(near) == 1 else None
    if wanted is not None and len(parts) >= FEWEST:
        _judge(ledger, parts, wanted, table.rows)


def _repeated(ledger: Ledger, totals: Sequence[Total]) -> None:
    """The score of the whole report, where it stands more than once: at its head, in its summary, at its end."""
    top = next((section.line for section in ledger.document.sections if section.title), 0)
    titles = [section.title for section in ledger.document.sections]
    whole = [
        t
        for t in totals
        if t.stated_most and _WHOLE.fullmatch(t.sentence.label) and _about_all(t.sentence, top, titles)
    ]
    for first, other in pairwise(whole):
        against = [ledger.passage(first.sentence)]
        if other.points.value * first.most == first.points.value * other.most:
            reason = f"the same score as on line {first.sentence.line}"
            ledger.add(other.sentence, ClaimKind.AGREEMENT, ClaimVerdict.CONFIRMED, reason, against=against)
        elif first.most == other.most:
            named = first.sentence.label == other.sentence.label or first.sentence.label == "score"
            reason = f"two scores for one report: {_of(first)} on line {first.sentence.line}, {_of(other)} here"
            verdict = ClaimVerdict.REFUTED if named else ClaimVerdict.INCONCLUSIVE
            ledger.add(other.sentence, ClaimKind.AGREEMENT, verdict, reason, against=against)
        ledger.read(first.sentence)


def _about_all(sentence: Sentence, top: int, titles: Sequence[str]) -> bool:
    """Whether it stands where a report speaks of itself as a whole: not below one of several equal headings."""
    if any(_PLANNED.search(text) for text in (sentence.section.titles, sentence.flat)):
        return False
    head = sentence.section.line <= top
    alone = titles.count(sentence.section.title) == 1
    title = sentence.section.title
    return head or (alone and (bool(_SUMMARY.search(title)) or "score" in title.lower()))


def _of(each: Total) -> str:
    return f"{shown(each.points.value)}/{shown(each.most)}"

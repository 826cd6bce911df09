"""Figures that must follow from others in the text: a change from A to B, a speed-up made of parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.numbers import NUMBER, Interval, Printed, printed, shown, total
from verifygate.claims.tables import compared
from verifygate.model.claims import ClaimKind, ClaimVerdict

_UNIT = r"(?:\s?(?P<{}>ms|µs|us|ns|s|sec|seconds|minutes|min|[KMGT]i?B|bytes|MB/s|GB/s|lines|queries))"
_CHANGED = re.compile(
    rf"(?:\bfrom\s+)?(?P<old>[~≈]?{NUMBER}){_UNIT.format('old_unit')}?\s*(?:\bto\b|→|->|-->|=>)\s*"
    rf"(?P<new>[~≈]?{NUMBER}){_UNIT.format('new_unit')}?\s*\(\s*[~≈+\-−⬇⬆↓↑]*\s?(?P<about>[~≈])?(?P<figure>{NUMBER})\s?(?P<unit>%|x\b|×)"
    rf"\s*(?P<word>reduction|decrease|faster|slower|improvement|increase|smaller|less|more"
    rf"|speed-?up|savings?|saved|reduced|drop|fewer|growth|gain|lower|higher)?\s*\)",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"^\W*before\b", re.IGNORECASE)
_AFTER = re.compile(r"^\W*after\b", re.IGNORECASE)
_CHANGE_LABEL = re.compile(
    r"^(?:memory |overall |total |time |latency )?(?:reduction|improvement|savings?|decrease|change|speed-?up)$"
)
_PERCENT_ONLY = re.compile(rf"^\W*(?P<figure>[~≈]?{NUMBER})\s?(?P<unit>%|x\b)")
_QUANTITY = re.compile(rf"^\W{{0,2}}(?P<figure>[~≈]?{NUMBER}){_UNIT.format('unit')}", re.IGNORECASE)
_FACTOR = re.compile(rf"(?P<about>[~≈])?(?P<figure>{NUMBER})\s?(?:x\b|×)", re.IGNORECASE)
_SPEEDUP = re.compile(r"\bspeed-?up\b|\bfaster\b|\bperformance (?:gain|improvement)\b|\boverall gain\b", re.IGNORECASE)
_COMBINED = re.compile(r"\b(?:overall|total|combined|cumulative|projected|expected|estimated|net)\b", re.IGNORECASE)
_PART = re.compile(rf"^\W*(?P<figure>[+~≈]\s?{NUMBER}|{NUMBER})\s?(?P<unit>%|x\b)", re.IGNORECASE)
MOST_PARTS = 8


def extract(document: Document, ledger: Ledger) -> None:
    for sentence in document.sentences:
        for match in _CHANGED.finditer(sentence.text):
            _changed(ledger, sentence, match)
    _before_after(document, ledger)
    _combined(document, ledger)


def _changed(ledger: Ledger, sentence: Sentence, match: re.Match[str]) -> None:
    old, new, stated = (printed(match[name].replace("≈", "~")) for name in ("old", "new", "figure"))
    units = {(match[name] or "").lower() for name in ("old_unit", "new_unit")} - {""}
    if old is None or new is None or stated is None or len(units) > 1 or not old.value or not new.value:
        return
    stated = Printed(stated.value, stated.step, bool(match["about"]))
    verdict, reason = compared(old, new, stated, match["unit"].lower(), called=match["word"] or "")
    if verdict is ClaimVerdict.REFUTED and not units and not match["word"]:
        verdict, reason = ClaimVerdict.INCONCLUSIVE, f"{reason}; whether the sentence means that change is not said"
    ledger.add(sentence.on(sentence.line_of(match.start())), ClaimKind.DERIVED, verdict, reason, words=match[0])


# --- a section "Before" and a section "After"


def _before_after(document: Document, ledger: Ledger) -> None:
    """`Peak usage: 2.5GB` before, `Peak usage: 1.6GB` after, `Reduction: 36%`."""
    for sentence in document.sentences:
        figure = _PERCENT_ONLY.match(sentence.value)
        if not _CHANGE_LABEL.match(sentence.label) or not figure or not _AFTER.match(sentence.section.title):
            continue
        parent = sentence.section.parent
        pairs = list(_pairs(document, sentence, parent.line if parent else 0))
        stated = printed(figure["figure"].replace("≈", "~"))
        if stated is None or len(pairs) != 1:
            continue
        (first, old), (second, new) = pairs[0]
        verdict, reason = compared(old, new, stated, figure["unit"].lower(), called=sentence.label)
        against = [ledger.passage(first), ledger.passage(second)]
        ledger.add(sentence, ClaimKind.DERIVED, verdict, reason, against=against, supports=[first, second])


Valued = tuple[Sentence, Printed]


def _pairs(document: Document, sentence: Sentence, parent_line: int) -> Iterator[tuple[Valued, Valued]]:
    """Quantities of one label and unit that stand before and after, below the same heading."""
    near = [
        each for each in document.sentences if (each.section.parent.line if each.section.parent else 0) == parent_line
    ]
    for second in near:
        new = _QUANTITY.match(second.value)
        if not new or not second.label or second.section != sentence.section:
            continue
        for first in near:
            old = _QUANTITY.match(first.value)
            same = old and first.label == second.label and old["unit"].lower() == new["unit"].lower()
            if old and same and _BEFORE.match(first.section.title):
                numbers = printed(old["figure"].replace("≈", "~")), printed(new["figure"].replace("≈", "~"))
                if numbers[0] and numbers[1] and numbers[0].value and numbers[1].value:
                    yield (first, numbers[0]), (second, numbers[1])


# --- a speed-up with its parts


def _combined(document: Document, ledger: Ledger) -> None:
    """`Projected overall speedup: 1.72x` above a list of `+35 %`, `+22 %`, `+18 %`."""
    for listed in document.lists:
        head = listed.before
        if head is None or not _SPEEDUP.search(head.flat) or not _COMBINED.search(head.flat):
            continue
        factors = list(_FACTOR.finditer(head.flat))
        parts = [(item, part) for item in listed.items if item.label and (part := _gain(item.value)) is not None]
        if len(factors) != 1 or not 2 <= len(parts) <= MOST_PARTS or "=" in head.flat:
            continue
        number = printed(factors[0]["figure"])
        if number is None:
            continue
        stated = Printed(number.value, number.step, bool(factors[0]["about"]))
        verdict, reason = follows(stated, [part for _, part in parts])
        lines = [item for item, _ in parts]
        against = [ledger.passage(item) for item in lines]
        ledger.add(head, ClaimKind.DERIVED, verdict, reason, against=against, supports=lines)


def _gain(value: str) -> Interval | None:
    """`+22%` as 1.22, `1.3x` as itself."""
    found = _PART.match(value)
    number = printed(found["figure"].lstrip("+ ").replace("≈", "~")) if found else None
    if found is None or number is None or not number.value:
        return None
    if found["unit"] == "%":
        return Interval.exactly(1) + number.interval * Interval.exactly(Fraction(1, 100))
    return number.interval


def follows(stated: Printed, gains: Sequence[Interval]) -> tuple[ClaimVerdict, str]:
    """Whether a factor is the product, or the sum, of some of the gains listed."""
    one = Interval.exactly(1)
    for size in range(len(gains), 0, -1):
        for chosen in combinations(gains, size):
            product, added = one, one + total(gain - one for gain in chosen)
            saved = one
            for gain in chosen:
                product = product * gain
                saved = saved - (gain - one)
            ways = {"product": product, "sum": added}
            if saved.low > 0:
                ways["time saved"] = one / saved
            for name, value in ways.items():
                if value.meets(stated.rounded):
                    some = "the parts" if size == len(gains) else f"{size} of the {len(gains)} parts"
                    if size == len(gains):
                        return ClaimVerdict.CONFIRMED, f"it is the {name} of {some}"
                    reason = f"no formula is stated; it would be the {name} of {some}"
                    return ClaimVerdict.INCONCLUSIVE, reason
    product = one
    for gain in gains:
        product = product * gain
    added = one + total(gain - one for gain in gains)
    reason = (
        f"no formula is stated, and none gives {shown(stated.value)}x: the parts multiply to "
        f"{shown(product.middle)}x and add "
        f"up to {shown(added.middle)}x, and no selection of them gives it either"
    )
    return ClaimVerdict.REFUTED, reason

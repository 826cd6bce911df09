"""A share beside the counts it is made of: `2/8 (25%)`, `80% (12 of 15)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.numbers import NUMBER, Printed, printed, shown
from verifygate.model.claims import ClaimKind, ClaimVerdict

_PART = rf"(?<![\w.,/:%+×*=-])(?P<part>{NUMBER})\s*(?:/|of|out of)\s*(?P<whole>{NUMBER})(?![\d/]|\.\d|\s*[%x×*])"
_SHARE = rf"(?P<about>[~≈])?(?P<share>{NUMBER})\s*%"
_TAIL = r"(?P<tail>[^()\n]{0,40}?)"
COUNTS_FIRST = re.compile(
    rf"{_PART}(?P<things>(?:\s+[A-Za-z][\w-]*){{0,4}})\s*(?:\(\s*{_SHARE}{_TAIL}\)"
    rf"|=\s*{_SHARE.replace('about', 'near').replace('share', 'equal')}(?![\w%]))"
)
SHARE_FIRST = re.compile(
    rf"(?<![\w.,-]){_SHARE}(?P<tail>(?:\s+[A-Za-z][\w-]*){{0,3}})\s*\(\s*{_PART}(?P<things>(?:\s+[A-Za-z][\w-]*){{0,4}})\s*\)"
)
_OF_THE_SHARE = re.compile(
    r"^\W*(?:(?:complet\w+|done|pass\w*(?: rate)?|success(?: rate)?|met|implemented|covered|verified|rate)\W*)?$",
    re.IGNORECASE,
)
_POSITION = re.compile(
    r"\b(?:phase|step|part|stage|page|week|day|sprint|iteration|milestone|level|chapter|batch|wave|round|run|attempt"
    r"|lesson|tier|epoch|version|wcag|ratio|weight\w*|priority)\W*$",
    re.IGNORECASE,
)
"""`Phase 2/5 (35% complete)` names a place in a row, not a share."""

_PARTLY = re.compile(r"\bpartial|\bWARN|⚠|\bhalf\b", re.IGNORECASE)
MOST_HALVES = 100


def extract(document: Document, ledger: Ledger) -> None:
    for sentence in document.sentences:
        for match, share in _matches(sentence.text):
            _judge(document, ledger, sentence, match, share)


def _matches(text: str) -> Iterator[tuple[re.Match[str], Printed]]:
    for pattern in (COUNTS_FIRST, SHARE_FIRST):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            number = printed(groups.get("share") or groups.get("equal") or "")
            if number is not None and not _POSITION.search(text[: match.start("part")]):
                about = bool(groups.get("about") or groups.get("near"))
                yield match, Printed(number.value, number.step, about)


def _judge(document: Document, ledger: Ledger, sentence: Sentence, match: re.Match[str], share: Printed) -> None:
    part, whole = printed(match["part"]), printed(match["whole"])
    if part is None or whole is None or not whole.value:
        return
    exact = part.value / whole.value * 100
    quoted, words = sentence.on(sentence.line_of(match.start())), match[0]
    calculation = f"{match['part']} of {match['whole']} is {shown(exact)} %"
    if share.rounded.low <= exact <= share.rounded.high:
        ledger.add(quoted, ClaimKind.PERCENTAGE, ClaimVerdict.CONFIRMED, calculation, words=words)
        return
    tail = match.groupdict().get("tail") or ""
    if not _OF_THE_SHARE.match(tail):
        return  # `45/45 passing (92% coverage)`: the share is one of something else
    stated = shown(share.value)
    if share.rounded.low <= 100 - exact <= share.rounded.high:
        reason = f"{calculation}; {stated} % is the rest: the sentence may mean that"
        ledger.add(quoted, ClaimKind.PERCENTAGE, ClaimVerdict.INCONCLUSIVE, reason, words=words)
    elif _partly_met(document, sentence) and _with_halves(part, whole, share):
        reason = f"{calculation}; {stated} % counts partly met ones as half"
        ledger.add(quoted, ClaimKind.PERCENTAGE, ClaimVerdict.INCONCLUSIVE, reason, words=words)
    elif part.value == whole.value or part.value > whole.value:
        reason = f"{calculation}; whether the {stated} % is a share of the same things is not said"
        ledger.add(quoted, ClaimKind.PERCENTAGE, ClaimVerdict.INCONCLUSIVE, reason, words=words)
    else:
        reason = f"{calculation}, not {stated} %"
        ledger.add(quoted, ClaimKind.PERCENTAGE, ClaimVerdict.REFUTED, reason, words=words)


def _partly_met(document: Document, sentence: Sentence) -> bool:
    """Whether the section speaks of things that are met in part."""
    return any(_PARTLY.search(other.text) for other in document.within(sentence.section.below(2)))


def _with_halves(part: Printed, whole: Printed, share: Printed) -> bool:
    """`6/8 PASS (88%)` where two more are PARTIAL."""
    rest = int(whole.value - part.value)
    counts = (part.value + Fraction(halves, 2) for halves in range(1, min(rest, MOST_HALVES) + 1))
    return any(share.rounded.low <= count / whole.value * 100 <= share.rounded.high for count in counts)

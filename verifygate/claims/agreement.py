"""Do the reports agree: with themselves, and with each other where they are about one thing?

REFUTED means that two passages cannot both hold, not which of them is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from verifygate.claims.absences import absences
from verifygate.claims.identity import Identity, StatedVerdict, one_thing
from verifygate.claims.ledger import Ledger, short
from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.numbers import NUMBER, printed, shown
from verifygate.claims.opposed import met_and_missed, missing_and_cited
from verifygate.model.claims import ClaimKind, ClaimVerdict, Passage

_SEVERE = re.compile(r"\b(?:CRITICAL|HIGH|BLOCKING|BLOCKER|SEVERE)\b|\bDETECTED\b|\bFOUND\b")
_SETTLED = re.compile(
    r"\b(?:no|not|none|without|zero|never|n't|fixed|fix|eliminated?|resolved|removed|prevent\w*"
    r"|previous\w*|avoid\w*|free of|mitigat\w+|check\w* for|safe|analysis"
    r"|addressed|handled|test\w*|verified|recommend\w*|should|could|if)\b",
    re.IGNORECASE,
)
_NONE_OF = re.compile(
    r"\bno\s+(?:known\s+|obvious\s+|critical\s+|major\s+)?(?P<thing>(?:[a-z-]+\s+){0,2}(?:leaks?"
    r"|conditions?|deadlocks?|vulnerabilit(?:y|ies)|regressions?|injections?|overflows?"
    r"|crash(?:es)?|corruption|errors?))"
    r"\s+(?:detected|found|identified|observed|present|exists?|introduced)\b",
    re.IGNORECASE,
)
_THREAD_SAFE = re.compile(r"\bthread[- ]safe\b", re.IGNORECASE)
_NOT_THREAD_SAFE = re.compile(
    r"\b(?:not|n't|never|isn't)\s+(?:\w+\s+)?thread[- ]safe\b|\bthread[- ]unsafe\b"
    r"|\bnon[- ]thread[- ]safe\b|\bun(?:safe|protected) for threads\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"\b(?P<name>[A-Z][a-z]+[A-Z]\w+|[a-z]+_[a-z_]+)\b")
_RATED_HIGH = re.compile(r"^\W*(?:EXCELLENT|OUTSTANDING|PERFECT|COMPREHENSIVE|EXEMPLARY|100\s?%)\b")
_MINUS = re.compile(rf"^\W*[-−]\s?(?P<points>{NUMBER})\b(?!\s*%)")
_MINIMUM = re.compile(
    r"^(?:pass(?:ing)?|minimum|required|approval)?\s*(?:score|mark|threshold|pass(?:ing)? (?:score"
    r"|threshold|mark)|minimum(?: passing)? score|score threshold)(?: to pass)?$"
)
_LEAST = re.compile(rf"^\W*(?:≥|>=)?\s*(?P<least>{NUMBER})\s*(?:/\s*(?P<most>{NUMBER})|%|points)?\W*$")
_INLINE_LEAST = re.compile(
    rf"\((?:pass(?:ing)? )?(?:threshold|minimum|pass mark|required|passing score)\s*:?\s*(?:≥"
    rf"|>=)?\s*(?P<least>{NUMBER})\s*(?:/\s*\d+|%)?\)",
    re.IGNORECASE,
)


# --- one report


def within(identity: Identity, ledger: Ledger) -> None:
    _own_verdicts(identity, ledger)
    _against_threshold(identity, ledger)
    _rated_and_deducted(identity.document, ledger)
    _denied(identity, identity, ledger, "in one report")
    met_and_missed(identity.document, ledger, identity.document, ledger, "in one report")


def _own_verdicts(identity: Identity, ledger: Ledger) -> None:
    """The verdict at the head of a report, and the one at its end."""
    verdicts = identity.verdicts
    for each in verdicts:
        ledger.read(each.sentence)
    for first, second in pairwise(verdicts):
        against = [ledger.passage(first.sentence)]
        if first.passes == second.passes:
            reason = f"the same verdict as on line {first.sentence.line}"
            ledger.add(second.sentence, ClaimKind.AGREEMENT, ClaimVerdict.CONFIRMED, reason, against=against)
            continue
        clear = all(
            not re.search(
                r"previous|before|initial|original|if ", s.sentence.section.titles + s.sentence.flat, re.IGNORECASE
            )
            for s in (first, second)
        )
        reason = f"two verdicts in one report: line {first.sentence.line} says {_word(first)}"
        verdict = (
            ClaimVerdict.REFUTED
            if clear and "recommendation" not in {first.sentence.label, second.sentence.label}
            else ClaimVerdict.INCONCLUSIVE
        )
        ledger.add(second.sentence, ClaimKind.AGREEMENT, verdict, reason, against=against)


def _word(verdict: StatedVerdict) -> str:
    return verdict.sentence.value.strip("*_ ")[:40]


def _against_threshold(identity: Identity, ledger: Ledger) -> None:
    """A verdict beside a score and the score that is needed to pass."""
    sentences = identity.document.sentences
    scores = [
        s for s in sentences if s.label in ("score", "final score", "overall score", "total score") and s.role != "row"
    ]
    values = [(s, re.match(rf"^\W*(?P<points>{NUMBER})\s*(?:/\s*(?P<most>{NUMBER})|%)?", s.value)) for s in scores]
    needed = [
        (s, found)
        for s in sentences
        if s.role != "row"
        and _MINIMUM.match(s.label)
        and "threshold" in s.label + " minimum pass required"
        and (found := _LEAST.match(s.value))
        and s not in scores
    ]
    needed += [(s, found) for s in scores if (found := _INLINE_LEAST.search(s.value))]
    if len(needed) != 1 or not values or not identity.verdicts:
        return
    if len({(v["points"], v["most"]) for _, v in values if v}) != 1 or len({v.passes for v in identity.verdicts}) != 1:
        return
    (sentence, found), (scored, value) = needed[0], values[0]
    least, points = printed(found["least"]), printed(value["points"]) if value else None
    if least is None or points is None:
        return
    verdict = identity.verdicts[-1]
    enough = points.value >= least.value
    told = f"a score of {shown(points.value)} against the {shown(least.value)} that line {sentence.line} asks for"
    against = [ledger.passage(scored), ledger.passage(sentence)]
    if verdict.passes and not enough:
        ledger.add(
            verdict.sentence, ClaimKind.AGREEMENT, ClaimVerdict.REFUTED, f"it passes with {told}", against=against
        )
    elif verdict.passes or not enough:
        ledger.add(
            verdict.sentence, ClaimKind.AGREEMENT, ClaimVerdict.CONFIRMED, f"it follows from {told}", against=against
        )


def _rated_and_deducted(document: Document, ledger: Ledger) -> None:
    """One thing called excellent, and points taken off for it."""
    for praised in document.sentences:
        if not praised.label or not _RATED_HIGH.match(praised.value):
            continue
        for costly in document.sentences:
            found = _MINUS.match(costly.value) if costly.label == praised.label else None
            if found:
                reason = (
                    f"the report calls it {praised.value.split()[0].strip('*')} on line {praised.line} "
                    f"and takes {found['points']} points off for it here"
                )
                ledger.add(
                    costly,
                    ClaimKind.AGREEMENT,
                    ClaimVerdict.REFUTED,
                    reason,
                    against=[ledger.passage(praised)],
                    supports=[praised],
                )


# --- several reports


@dataclass(frozen=True)
class Read:
    identity: Identity
    ledger: Ledger


def between(reports: Sequence[Read]) -> None:
    for first, second in combinations(reports, 2):
        same, why = one_thing(first.identity, second.identity)
        if not why:
            continue
        _verdicts_of_two(first, second, same=same, why=why)
        if same:
            _denied(first.identity, second.identity, first.ledger, why)
            _denied(second.identity, first.identity, second.ledger, why)
            _thread_safety(first, second, why)
            _absent_and_located(first, second, why)
            _absent_and_located(second, first, why)
            for one, two in ((first, second), (second, first)):
                met_and_missed(one.identity.document, one.ledger, two.identity.document, two.ledger, why)
                missing_and_cited(one.identity.document, one.ledger, two.identity.document, two.ledger, why)


def _verdicts_of_two(first: Read, second: Read, *, same: bool, why: str) -> None:
    one, two = _settled(first.identity), _settled(second.identity)
    if one is None or two is None:
        return
    if one.passes is two.passes:
        if same:
            reason = f"the same verdict as {second.identity.document.path}; {why}"
            first.ledger.add(
                one.sentence,
                ClaimKind.AGREEMENT,
                ClaimVerdict.CONFIRMED,
                reason,
                against=[second.ledger.passage(two.sentence)],
            )
        return
    passing, blocking = (first, second) if one.passes else (second, first)
    positive, negative = (one, two) if one.passes else (two, one)
    against = [blocking.ledger.passage(negative.sentence)]
    name = blocking.identity.document.path
    if same and first.identity.version:
        verdict = ClaimVerdict.REFUTED
        reason = (
            f"{why}, and {name} blocks it: one version, two verdicts; until that is settled the stricter one stands"
        )
    else:
        verdict = ClaimVerdict.INCONCLUSIVE
        reason = f"{name} blocks; {why}" + (", and neither names its version" if same else "")
    passing.ledger.add(positive.sentence, ClaimKind.AGREEMENT, verdict, reason, against=against)


def _settled(identity: Identity) -> StatedVerdict | None:
    """A report's verdict, where it has one."""
    found = {each.passes for each in identity.verdicts}
    return identity.verdicts[0] if len(found) == 1 else None


def _denied(denying: Identity, other: Identity, ledger: Ledger, why: str) -> None:
    """`No memory leaks detected` here, `[CRITICAL] Memory leak` there."""
    for sentence in denying.document.sentences:
        found = _NONE_OF.search(sentence.flat)
        if not found:
            continue
        thing = _singular(found["thing"])
        ledger_of = [s for s in _affirmed(other.document, thing) if s is not sentence]
        if ledger_of:
            against = [Passage(path=other.document.path, line=s.line, words=short(s.flat)) for s in ledger_of[:2]]
            reason = (
                f"{other.document.path} reports a {thing} ({why})"
                if other is not denying
                else f"the report itself names a {thing}"
            )
            ledger.add(sentence, ClaimKind.AGREEMENT, ClaimVerdict.REFUTED, reason, against=against)


def _singular(thing: str) -> str:
    words = " ".join(thing.lower().split())
    words = re.sub(r"ies$", "y", words)
    return re.sub(r"(?<=crash)es$|(?<![s])s$", "", words)


def _affirmed(document: Document, thing: str) -> Iterator[Sentence]:
    """Headings and labelled lines that report the thing as there, with a severity."""
    *_, noun = thing.split()
    pattern = re.compile(
        rf"\b{re.escape(thing)}(?:s|es)?\b" if " " in thing else rf"\b{re.escape(noun)}(?:s|es)?\b", re.IGNORECASE
    )
    for sentence in document.sentences:
        text = sentence.flat
        above = [section.title for section in sentence.section.path if section.level > 1]
        if sentence.role == "heading":
            above = above[:-1]
        reported = pattern.search(text) and _SEVERE.search(text)
        if reported and not any(_SETTLED.search(words) for words in (text, *above)):
            yield sentence


def _thread_safety(first: Read, second: Read, why: str) -> None:
    for safe, unsafe in ((first, second), (second, first)):
        for claimed in _thread_safe(safe.identity.document):
            for denied in _not_thread_safe(unsafe.identity.document):
                subjects = [set(_SUBJECT.findall(s.flat)) for s in (claimed, denied)]
                if not subjects[0] & subjects[1]:
                    continue
                name = min(subjects[0] & subjects[1])
                reason = f"{unsafe.identity.document.path} calls {name} not thread-safe ({why})"
                safe.ledger.add(
                    claimed, ClaimKind.AGREEMENT, ClaimVerdict.REFUTED, reason, against=[unsafe.ledger.passage(denied)]
                )


def _thread_safe(document: Document) -> Iterator[Sentence]:
    for sentence in document.sentences:
        if (
            _THREAD_SAFE.search(sentence.flat)
            and not _NOT_THREAD_SAFE.search(sentence.flat)
            and not re.search(r"\b(?:not|should|must|make)\b", sentence.flat, re.IGNORECASE)
        ):
            yield sentence


def _not_thread_safe(document: Document) -> Iterator[Sentence]:
    return (sentence for sentence in document.sentences if _NOT_THREAD_SAFE.search(sentence.flat))


def _absent_and_located(denying: Read, other: Read, why: str) -> None:
    """`Zero occurrences of X in the codebase` here, `X: lines 164-169` there."""
    for absence in absences(denying.identity.document):
        for name in absence.names if not absence.in_tests else ():
            pattern = re.compile(rf"(?<!\w){re.escape(name.rpartition('.')[2])}(?!\w)", re.IGNORECASE)
            located = [
                sentence
                for sentence in other.identity.document.sentences
                if pattern.search(sentence.flat)
                and re.search(r"\blines? \d", sentence.flat, re.IGNORECASE)
                and not re.search(r"\b(?:no|not|missing|absent|without|should|add)\b", sentence.flat, re.IGNORECASE)
            ]
            if located:
                reason = f"{other.identity.document.path} says where `{name}` stands ({why})"
                against = [other.ledger.passage(located[0])]
                denying.ledger.add(absence.sentence, ClaimKind.AGREEMENT, ClaimVerdict.REFUTED, reason, against=against)

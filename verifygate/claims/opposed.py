"""Two passages about one thing that cannot both hold: a target met and missed, code that is missing and cited.

REFUTED says that they contradict each other, and not which of them is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import CODE_SPAN, Document, Sentence
from verifygate.claims.numbers import NUMBER, Printed, printed
from verifygate.claims.places import PATH, places
from verifygate.claims.targets import METRICS, called_met, repaired
from verifygate.model.claims import ClaimKind, ClaimVerdict

# --- a target that is called met here, and a present figure there that misses it

_AT_LEAST = {"speed-up": r"x\b|×", "throughput": r"samples/s|tokens/s|images/s|req/s|qps|rps"}
_AT_MOST = {"latency": r"ms\b|µs\b|s\b"}
_PRESENT = re.compile(r"\b(?:current(?:ly)?|present(?:ly)?|today|right now|at the moment|as of now)\b", re.IGNORECASE)
_NOT_NOW = re.compile(
    r"\b(?:after|potential\w*|would|could|should|target\w*|goal|required?|baseline|previous\w*|before|expected|projected"
    r"|without AMP)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"[~≈]|\b(?:about|around|approx\w*|roughly|nearly|almost)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """A figure, or a range of them, with the unit that belongs to its metric."""

    low: Printed
    high: Printed
    unit: str
    words: str


def met_and_missed(claimed: Document, ledger: Ledger, other: Document, against: Ledger, why: str) -> None:
    """`Speedup target 1.5x met` here, `Current speedup: 1.2-1.3x` there."""
    present = list(_present(other))
    for sentence, metrics, note in called_met(claimed):
        if "no measurement" in note:  # that code checks for a target does not say that it is met
            continue
        for metric in metrics:
            bound = next(_figures(repaired(sentence.flat), metric), None)
            for named, told, figure in present if bound else ():
                if named == metric and told is not sentence and bound and _misses(figure, bound, metric):
                    where = f"{other.path}:{told.line}" if other is not claimed else f"line {told.line}"
                    reason = (
                        f"{where} puts the present {metric} at {figure.words}, and {bound.words} is called met here"
                        f" ({why})"
                    )
                    ledger.add(
                        sentence,
                        ClaimKind.AGREEMENT,
                        ClaimVerdict.REFUTED,
                        reason,
                        against=[against.passage(told)],
                    )
                    break


def _present(document: Document) -> Iterator[tuple[str, Sentence, Figure]]:
    """What a report says of how things stand now, by metric."""
    for sentence in document.sentences:
        text = CODE_SPAN.sub(" ", repaired(sentence.flat))
        head = sentence.label or text
        if not _PRESENT.search(head) or _NOT_NOW.search(re.sub(r"\(.*?\)", " ", text)):
            continue
        for metric in (*_AT_LEAST, *_AT_MOST):
            if re.search(METRICS[metric], head, re.IGNORECASE):
                figures = list(_figures(text, metric))
                if len(figures) == 1:
                    yield metric, sentence, figures[0]


def _figures(text: str, metric: str) -> Iterator[Figure]:
    unit = _AT_LEAST.get(metric) or _AT_MOST.get(metric)
    if unit is None:
        return
    pattern = re.compile(
        rf"(?<![\w.])(?P<about>[~≈]\s?)?(?P<low>{NUMBER})(?:\s?(?:x|×)?\s?(?:[-–]|to)\s?(?P<high>{NUMBER}))?\s?"
        rf"(?P<unit>{unit})",
        re.IGNORECASE,
    )
    for found in pattern.finditer(text):
        about = "~" if found["about"] or _ABOUT.search(text[max(0, found.start() - 12) : found.start()]) else ""
        low, high = printed(about + found["low"]), printed(about + (found["high"] or found["low"]))
        if low and high and low.value <= high.value:
            yield Figure(low, high, found["unit"].lower().replace("×", "x"), found[0].strip())


def _misses(figure: Figure, bound: Figure, metric: str) -> bool:
    """Whether the figure lies on the wrong side of the least that is asked for, however it was rounded."""
    if figure.unit != bound.unit:
        return False
    if metric in _AT_LEAST:
        return figure.high.rounded.high < bound.low.value
    return figure.low.rounded.low > bound.high.value


# --- code of some kind that is said to be missing here, and is cited there

_KINDS = r"code|scripts?|implementations?|modules?|utilit(?:y|ies)|harness(?:es)?|suites?|tooling|programs?"
_NO_CODE = re.compile(
    rf"\b(?:no|zero)\s+(?:\w+\s+)?(?P<thing>[a-z]{{5,}})\s+(?:{_KINDS})\b(?!\s+(?:in|for|within|under|that|which)\b)",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:should|must|add|create|write|implement|needed|required|recommend\w*|missing|todo|if|once|planned|propose\w*"
    r"|remediation|none|no|not)\b",
    re.IGNORECASE,
)
_GENERAL = frozenset({"source", "production", "other", "dead", "duplicate", "duplicated", "unused", "legacy", "client"})


def missing_and_cited(denying: Document, ledger: Ledger, other: Document, against: Ledger, why: str) -> None:
    """`No benchmark code` here, `amp_benchmark.py:73-90` there."""
    cited = list(_cited(other))
    for sentence in denying.sentences:
        found = _NO_CODE.search(CODE_SPAN.sub(" ", sentence.flat))
        if not found or found["thing"].lower() in _GENERAL:
            continue
        stem = _stem(found["thing"])
        for path, told in cited:
            if stem in {_stem(part) for part in re.split(r"[_\-.]", PurePosixPath(path).stem.lower())}:
                reason = f"{other.path}:{told.line} cites lines of `{PurePosixPath(path).name}` ({why})"
                passage = against.passage(told)
                ledger.add(sentence, ClaimKind.AGREEMENT, ClaimVerdict.REFUTED, reason, against=[passage])
                break


def _cited(document: Document) -> Iterator[tuple[str, Sentence]]:
    """Files of which lines are cited, each with the sentence that names it; not what is asked for."""
    named: dict[tuple[int, str], Sentence] = {}
    for sentence in document.sentences:
        for match in PATH.finditer(sentence.text):
            named.setdefault((sentence.section.line, match["path"]), sentence)
    for place in places(document):
        if place.path and not place.foreign and not _PLANNED.search(place.sentence.section.title):
            yield place.path, place.sentence
    sections = {place.sentence.section.line for place in places(document) if not place.path}
    for (line, path), sentence in named.items():  # `In a.py` above `Lines 3-9 check`: one section, one file
        alone = sum(1 for other, _ in named if other == line) == 1
        if line in sections and alone and not _PLANNED.search(sentence.flat):
            yield path, sentence


def _stem(word: str) -> str:
    """`benchmark` of benchmarks, benchmarked and benchmarking."""
    return re.sub(r"(?:ing|ed|s|er|ers)$", "", word.lower())

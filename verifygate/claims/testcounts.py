"""How many tests passed: re-run on demand, and only then settled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.rerun import Rerun
from verifygate.model.claims import ClaimKind, ClaimVerdict

_PARTS = re.compile(
    r"(?<![\w./-])(?P<count>\d{1,6})\s+(?:tests?\s+)?(?P<end>passed|passing|failed|failing"
    r"|failures?|skipped|errors?|xfailed|xpassed|warnings?|deselected)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"(?<![\w./-])(?P<passed>\d{1,6})\s*(?:/|of|out of)\s*(?P<all>\d{1,6})(?![\d/%]"
    r"|\.\d)(?:\s+(?:unit|integration|of|the|all|total))*\s+(?:tests?\s+(?:cases\s+)?)?"
    r"(?:are\s+|were\s+|have\s+)?(?P<end>passed|pass|passing|succeeded|green)\b",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(
    r"\btests?\s+(?:pass|passed|passing)\s*\(\s*(?P<passed>\d{1,6})\s*/\s*(?P<all>\d{1,6})\s*\)", re.IGNORECASE
)
_LABELLED = re.compile(r"^(?P<passed>\d{1,6})\s*/\s*(?P<all>\d{1,6})\b")
_TEST_LABEL = re.compile(
    r"^(?:unit |integration |all )?tests?(?: (?:passed|passing|results?))?$|^passed(?: tests)?$|^passing$"
)
_TEST_FILE = re.compile(
    r"(?<![\w/.-])(?P<path>(?:[\w.-]+/)*(?:test_[\w-]+|[\w-]+_test)\.py)(?![\w/])"
    r"|(?<![\w/.-])(?P<folder>tests?/(?:[\w-]+/)*)(?![\w.])"
)
_OTHER_TIME = re.compile(
    r"\b(?:before|previous\w*|earlier|was|baseline|initial\w*|expected|should|will|target|after the fix)\b",
    re.IGNORECASE,
)
_OTHER_THINGS = re.compile(r"\b(?:criteri\w+|requirements?|gates?|checks?|assertions?)\b", re.IGNORECASE)
NOT_RUN = "not run again (--root DIR --run-tests runs it)"
_ENDS = {
    "passing": "passed",
    "pass": "passed",
    "failing": "failed",
    "failure": "failed",
    "failures": "failed",
    "error": "errors",
    "warning": "warnings",
}

Runner = Callable[[str], Rerun]
"""Runs the tests at a path below the root; empty for all of them."""


@dataclass(frozen=True)
class Stated:
    sentence: Sentence
    words: str
    counts: dict[str, int]
    suite: str | None
    """A path; empty for the whole suite; None where it cannot be told."""


def extract(document: Document, ledger: Ledger, run: Runner | None) -> None:
    for stated in statements(document):
        verdict, reason = _impossible(stated.counts) or _judged(stated, run)
        ledger.add(stated.sentence, ClaimKind.TESTS, verdict, reason, words=stated.words)


def _impossible(counts: dict[str, int]) -> tuple[ClaimVerdict, str] | None:
    passed, every = counts.get("passed", 0), counts.get("all")
    if every is not None and passed > every:
        return ClaimVerdict.REFUTED, f"{passed} of {every} cannot have passed"
    failed = counts.get("failed", 0)
    if every is not None and failed and passed + failed > every:
        return ClaimVerdict.REFUTED, f"{passed} passed and {failed} failed are more than {every}"
    return None


def _judged(stated: Stated, run: Runner | None) -> tuple[ClaimVerdict, str]:
    unsure = ClaimVerdict.INCONCLUSIVE
    if run is None:
        return unsure, NOT_RUN
    if stated.suite is None:
        return unsure, "not run again: which tests are meant is not said"
    if _OTHER_TIME.search(stated.sentence.prose):
        return unsure, "not run again: the sentence speaks of another time"
    result = run(stated.suite)
    if result.problem:
        return unsure, f"run again: {result.problem}"
    here = result.counts
    told = f"run again: {result.told}"
    wanted = {end: count for end, count in stated.counts.items() if end in ("passed", "failed", "skipped", "errors")}
    if all(here.get(end, 0) == count for end, count in wanted.items()) and stated.counts.get(
        "all", result.collected
    ) in (
        result.collected,
        result.collected - here.get("skipped", 0),
    ):
        unmentioned = here.get("failed", 0) and "failed" not in wanted
        return (ClaimVerdict.CONFIRMED if not unmentioned else ClaimVerdict.REFUTED), told
    every = stated.counts.get("all") or (sum(wanted.values()) if len(wanted) > 1 else None)
    if here.get("failed", 0) > wanted.get("failed", 0):
        return ClaimVerdict.REFUTED, told
    if every is not None and every != result.collected and every != result.collected - here.get("skipped", 0):
        return ClaimVerdict.REFUTED, f"{told}; that is {result.collected} tests and not {every}"
    return unsure, f"{told}; what is skipped depends on the machine"


def statements(document: Document) -> Iterator[Stated]:
    suites = list(_suites(document))
    for sentence in document.sentences:
        found = _counts(sentence)
        if found:
            words, counts = found
            yield Stated(sentence, words, counts, _suite_of(sentence, suites))


def _counts(sentence: Sentence) -> tuple[str, dict[str, int]] | None:
    text = sentence.flat
    share = _SHARE.search(text) or _IN_BRACKETS.search(text)
    if share is not None and (not re.search(r"\btests?\b", text, re.IGNORECASE) or _OTHER_THINGS.search(text)):
        share = None
    if share is None and _TEST_LABEL.match(sentence.label) and (labelled := _LABELLED.match(sentence.value)):
        share = labelled
    parts: dict[str, int] = {}
    for match in _PARTS.finditer(text):
        end = match["end"].lower()
        parts.setdefault(_ENDS.get(end, end), int(match["count"]))
    if share is not None:
        return sentence.flat, {"passed": int(share["passed"]), "all": int(share["all"])} | {
            end: count for end, count in parts.items() if end in ("failed", "skipped")
        }
    about_tests = re.search(r"\btests?\b|\bpytest\b|\bsuite\b", f"{text} {sentence.section.titles}", re.IGNORECASE)
    if "passed" in parts and about_tests and (len(parts) > 1 or re.search(r"\d+ tests? pass", text, re.IGNORECASE)):
        return sentence.flat, parts
    return None


def _suites(document: Document) -> Iterator[tuple[Sentence, str]]:
    """Each test file or folder that the report names, with the sentence that does; `test_x.py` is `tests/test_x.py`."""
    named = [
        (sentence, match["path"] or match["folder"].rstrip("/"))
        for sentence in document.sentences
        for match in _TEST_FILE.finditer(sentence.text)
    ]
    for sentence, path in named:
        yield sentence, max((other for _, other in named if other == path or other.endswith(f"/{path}")), key=len)


def _suite_of(sentence: Sentence, suites: Sequence[tuple[Sentence, str]]) -> str | None:
    """The test file of the same section; the report's only one; the whole suite where none is named."""
    for section in reversed(sentence.section.path):
        within = {path for other, path in suites if section in other.section.path and section.level}
        if len(within) == 1:
            return within.pop()
        if within:
            return None
    every = {path for _, path in suites}
    if len(every) > 1:
        return None
    return every.pop() if every else ""

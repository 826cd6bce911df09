"""Universal negatives: "zero occurrences in the codebase", "never called by a test". All sources are searched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import CODE_SPAN, Document, Sentence
from verifygate.claims.references import NO_TREE
from verifygate.claims.text_files import Hit, Tree
from verifygate.model.claims import ClaimKind, ClaimVerdict

_EVERYWHERE = (
    r"(?:(?:the|this|entire|whole|our|source)\s+)*(?:codebase|code base|repository|repo|project"
    r"|source tree|source code|code)\b"
)
_NOWHERE = (
    re.compile(
        rf"\b(?:zero|no|0)\s+(?:\w+\s+){{0,3}}(?:occurrences?|usages?|uses?|references?|instances?"
        rf"|mentions?|calls?|imports?)\b.*?\b(?:in|within|across|throughout"
        rf"|anywhere in)\s+{_EVERYWHERE}",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?:absent|missing)\s+(?:from|in)\s+{_EVERYWHERE}", re.IGNORECASE),
    re.compile(
        rf"\b(?:never|not)\s+(?:used|called|imported|referenced|instantiated|found"
        rf"|present)\s+(?:anywhere\b|in\s+{_EVERYWHERE})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:zero|no)\s+(?:occurrences?|usages?|references?|instances?)\s+(?:were\s+|was\s+)?found\b", re.IGNORECASE
    ),
)
_IN_TESTS = (
    re.compile(
        r"\b(?:never|not)\s+(?:called|tested|exercised|used|invoked|covered)\s+(?:directly\s+)?(?:by"
        r"|in|from)\s+(?:the\s+|any\s+)?(?:unit\s+|integration\s+)?tests?\b(?:\s+suite)?",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bno\s+(?:unit\s+|integration\s+|existing\s+)?tests?\s+(?:directly\s+)?(?:calls?|uses?"
        r"|covers?|exercises?|invokes?)\b",
        re.IGNORECASE,
    ),
)
_GREP = re.compile(
    r"\b(?:grep|rg|ag|ack)\s+(?:-[\w-]+\s+)*(?P<quote>[\"'])(?P<pattern>.+?)(?P=quote)\s+(?P<scope>[^\n|#]+)"
)
_NAME = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?(?![\w(])")
_WISHED = re.compile(
    r"^\W*(?:expected|rule|requirement|should|must|target|goal|ensure|verify that|recommendation)\b", re.IGNORECASE
)
SHOWN = 3


@dataclass(frozen=True)
class Absence:
    sentence: Sentence
    names: tuple[str, ...]
    in_tests: bool
    scope: str
    """What the search shown in the report looked through; empty where none is shown."""


def extract(document: Document, ledger: Ledger, tree: Tree | None) -> None:
    for absence in absences(document):
        verdict, reason = _judged(tree, absence)
        if absence.scope:
            reason += f"; the search shown in the report covers only `{absence.scope}`"
        ledger.add(absence.sentence, ClaimKind.ABSENCE, verdict, reason)


def absences(document: Document) -> Iterator[Absence]:
    for sentence in document.sentences:
        in_tests = any(pattern.search(sentence.flat) for pattern in _IN_TESTS)
        if _WISHED.match(sentence.flat) or not (in_tests or any(pattern.search(sentence.flat) for pattern in _NOWHERE)):
            continue
        names, scope = _identifiers(sentence), ""
        if not in_tests:
            searched = _search_shown(document, sentence)
            scope = searched[1] if searched else ""
            names = names or _above(document, sentence) or (searched[0] if searched else ())
        yield Absence(sentence, names, in_tests, scope)


def _judged(tree: Tree | None, absence: Absence) -> tuple[ClaimVerdict, str]:
    if not absence.names:
        return ClaimVerdict.INCONCLUSIVE, "what is said to be nowhere is not named as code"
    if tree is None:
        return ClaimVerdict.INCONCLUSIVE, NO_TREE
    tests = True if absence.in_tests else None
    names = ", ".join(f"`{name}`" for name in absence.names)
    by_name = {name: _hits(tree, absence, name, tests) for name in absence.names}
    found = [(name, hit) for name, hits in by_name.items() for hit in hits]
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        told = ", ".join(f"`{name}` at {hit}" for name, hit in found[:SHOWN]) + more
        if not all(by_name.values()):
            return ClaimVerdict.INCONCLUSIVE, f"{told}; the other names are not there, and which is meant is not said"
        if not absence.in_tests and all(hit.path in _tests(tree) for _, hit in found):
            return ClaimVerdict.INCONCLUSIVE, f"only in tests: {told}"
        return ClaimVerdict.REFUTED, told
    if written := [hit for name in absence.names for hit in _written(tree, absence, name, tests)]:
        return (
            ClaimVerdict.INCONCLUSIVE,
            f"the name stands at {written[0]}, but whether that is what is meant cannot be told",
        )
    if tree.unread:
        return ClaimVerdict.INCONCLUSIVE, f"{names}: not found, but {len(tree.unread)} source files could not be read"
    searched = [file for file in tree.code if tests is None or file.is_test]
    if not searched:
        return ClaimVerdict.INCONCLUSIVE, "the source tree holds no test"
    kind = "test" if absence.in_tests else "source"
    return ClaimVerdict.CONFIRMED, f"{names}: nowhere in {counted(len(searched), f'{kind} file')}"


def _tests(tree: Tree) -> set[str]:
    return {file.path for file in tree.code if file.is_test}


def _hits(tree: Tree, absence: Absence, name: str, tests: bool | None) -> list[Hit]:
    """Lines of code that can only mean this name.

    A definition is no use of a thing, nor is an import; and `model.eval()` is no `eval()`.
    """
    last = name.rpartition(".")[2]
    before = r"(?<![\w])" if "." not in name and re.search(r"_|^[A-Z]", last) else r"(?<![\w.])"
    called = _CALLED.search(absence.sentence.flat) is not None
    pattern = re.compile(before + re.escape(name if "." in name else last) + (r"\s*\(" if called else r"(?!\w)"))
    found = tree.search(last, code_only=True, tests=tests)
    return [hit for hit in found if pattern.search(hit.text) and not _no_use(absence, hit)]


def _written(tree: Tree, absence: Absence, name: str, tests: bool | None) -> list[Hit]:
    """Lines that hold the name in any way, comments and texts too, but for the definition of what is never used."""
    found = tree.search(name.rpartition(".")[2], tests=tests)
    return [hit for hit in found if not _no_use(absence, hit)]


def _no_use(absence: Absence, hit: Hit) -> bool:
    of_use = _CALLED.search(absence.sentence.flat) or _USED.search(absence.sentence.flat)
    return of_use is not None and _NO_USE.match(hit.text) is not None


_CALLED = re.compile(r"\bcall(?:s|ed)?\b|\binvoke[sd]?\b|\bexercise[sd]?\b", re.IGNORECASE)
_USED = re.compile(
    r"\bus(?:es?|ed|ages?)\b|\breference[sd]?\b|\bcover(?:s|ed)?\b|\btested\b|\binstantiated\b", re.IGNORECASE
)
_NO_USE = re.compile(r"^\s*(?:async\s+)?(?:def|class|func|function|fn|import|from|export)\b")


def _identifiers(sentence: Sentence) -> tuple[str, ...]:
    """Names in the sentence that can only be code: in backticks, called, or written like a name."""
    found = [match["name"] for span in sentence.codes if (match := _NAME.fullmatch(span))]
    text = CODE_SPAN.sub(" ", sentence.text)
    found += [
        match["name"]
        for match in _NAME.finditer(text)
        if re.search(r"_|[a-z][A-Z]", match["name"]) or match[0].endswith("()")
    ]
    return tuple(dict.fromkeys(found))


def _above(document: Document, sentence: Sentence) -> tuple[str, ...]:
    """Names in the lines above of the same list or paragraph: `Test: search for X`, `Actual: zero occurrences`."""
    for other in reversed(document.sentences[max(0, sentence.index - 3) : sentence.index]):
        if other.section == sentence.section and re.match(r"test|search|query|check|pattern|grep", other.label):
            return _identifiers(other)
    return ()


def _search_shown(document: Document, sentence: Sentence) -> tuple[tuple[str, ...], str] | None:
    """The search command in the same section: what it looked for, and where, if that is not everything."""
    for block in document.blocks:
        if block.section != sentence.section:
            continue
        for line in block.lines:
            if found := _GREP.search(line):
                scope = found["scope"].strip()
                names = tuple(part for part in re.split(r"\\?\|", found["pattern"]) if re.fullmatch(r"\w+", part))
                return names, "" if scope.rstrip("/") in (".", "./", "") else scope
    return None

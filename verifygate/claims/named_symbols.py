"""Names that a report says are in the code: functions, classes, attributes in backticks."""

from __future__ import annotations

import re

from verifygate.claims.absences import absences
from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import CODE_SPAN, Document, Sentence
from verifygate.claims.places import PATH
from verifygate.claims.references import NO_TREE
from verifygate.claims.text_files import Hit, Tree
from verifygate.model.claims import ClaimKind, ClaimVerdict

_NAME = re.compile(r"^(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?P<call>\(\))?$")
_TELLING = re.compile(r"_|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|\.")
_IN_FILE = re.compile(
    r"^\s*(?:function|method|class|callback|helper|test)?\s*(?:is |are |defined |implemented |lives? )?\s*in\s+`?",
    re.IGNORECASE,
)
_MAYBE_ABSENT = re.compile(
    r"\b(?:no|not|never|n't|without|lacks?|missing|absent|add\w*|creat\w+|should|will|would|could"
    r"|need\w*|must|implement|remov\w+|delet\w+|renam\w+"
    r"|replac\w+|deprecated|instead|previous\w*|old|was|were|consider|expected|required|propos\w+|recommend\w*)\b",
    re.IGNORECASE,
)
MOST = 60
"""Names of one report that are looked up."""


def extract(document: Document, ledger: Ledger, tree: Tree | None) -> None:
    """One claim for each name, where it stands first."""
    seen: set[str] = set()
    elsewhere = {absence.sentence for absence in absences(document)}  # what is said to be nowhere is searched there
    for sentence in document.sentences:
        if sentence in elsewhere:
            continue
        for match in CODE_SPAN.finditer(sentence.text):
            name = _NAME.match(match[1].strip())
            if not name or PATH.fullmatch(match[1].strip()) or name["name"] in seen or len(seen) >= MOST:
                continue
            if not (name["call"] or _TELLING.search(name["name"])):
                continue
            seen.add(name["name"])
            verdict, reason = _looked_up(tree, sentence, name["name"], match)
            ledger.add(sentence.on(sentence.line_of(match.start())), ClaimKind.SYMBOL, verdict, reason, words=match[0])


def _looked_up(tree: Tree | None, sentence: Sentence, name: str, match: re.Match[str]) -> tuple[ClaimVerdict, str]:
    if tree is None:
        return ClaimVerdict.INCONCLUSIVE, NO_TREE
    last = name.rpartition(".")[2]
    claimed = _file_named_after(sentence, match)
    hits = list(tree.search(last, code_only=True))
    if claimed:
        files = tree.named(claimed)
        if len(files) == 1 and not any(hit.path == files[0].path for hit in hits):
            elsewhere = f"; it stands in {hits[0]}" if hits else ""
            if _MAYBE_ABSENT.search(sentence.prose) or last in files[0].text:
                return ClaimVerdict.INCONCLUSIVE, f"not in the code of {files[0].path}{elsewhere}"
            return ClaimVerdict.REFUTED, f"the name does not stand in {files[0].path}{elsewhere}"
    defined = [Hit(file.path, spans[0][0]) for file in tree.code if (spans := file.definitions.get(last))]
    if defined:
        return ClaimVerdict.CONFIRMED, f"defined at {defined[0]}" + (
            f" and {len(defined) - 1} more" if defined[1:] else ""
        )
    if hits:
        return ClaimVerdict.CONFIRMED, f"the name stands at {hits[0]}" + (
            f" and {len(hits) - 1} more" if hits[1:] else ""
        )
    return (
        ClaimVerdict.INCONCLUSIVE,
        "nowhere in the source tree; it may be a library's, or a proposal",
    )


def _file_named_after(sentence: Sentence, match: re.Match[str]) -> str:
    """The file in `` `name()` in `file.py` ``."""
    rest = sentence.text[match.end() :]
    lead = _IN_FILE.match(rest)
    path = PATH.match(rest, lead.end()) if lead else None
    return path["path"] if path else ""

"""Where the extractors write down what they found in one report."""

from __future__ import annotations

from collections.abc import Iterable

from verifygate.claims.markdown import Document, Sentence
from verifygate.model.claims import Claim, ClaimKind, ClaimVerdict, Passage, ReadReport, Unparsed

WORDS = 120
"""Characters kept of the words that are quoted."""


class Ledger:
    """The claims of one report, and which of its sentences they came from."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._claims: dict[tuple[ClaimKind, int, str, str], Claim] = {}
        self._parsed: set[int] = set()

    def add(
        self,
        sentence: Sentence,
        kind: ClaimKind,
        verdict: ClaimVerdict,
        reason: str,
        *,
        words: str = "",
        against: Iterable[Passage] = (),
        supports: Iterable[Sentence] = (),
    ) -> None:
        """Write a claim down once. `supports`: other sentences that were read for it, and so count as parsed."""
        line, words = sentence.line, short(words or sentence.flat)
        claim = Claim(
            kind=kind,
            verdict=verdict,
            path=self.document.path,
            line=line,
            words=words,
            reason=reason,
            against=tuple(against),
        )
        self._claims.setdefault((kind, line, words, reason), claim)
        self.read(sentence, *supports)

    def read(self, *sentences: Sentence) -> None:
        """These sentences were understood, whatever came of it."""
        self._parsed.update(sentence.index for sentence in sentences)

    def passage(self, sentence: Sentence) -> Passage:
        return Passage(path=self.document.path, line=sentence.line, words=short(sentence.flat))

    @property
    def claims(self) -> list[Claim]:
        return sorted(self._claims.values(), key=lambda claim: claim.order)

    def report(self, task: str, version: str) -> ReadReport:
        counted = self.document.counted
        return ReadReport(
            path=self.document.path,
            digest=self.document.digest,
            title=short(self.document.title),
            task=task,
            version=version,
            sentences=len(counted),
            not_parsed=tuple(
                Unparsed(line=sentence.line, words=short(sentence.flat))
                for sentence in counted
                if sentence.index not in self._parsed
            ),
        )


def short(text: str, most: int = WORDS) -> str:
    """On one line, cut at a word."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(" ,;:(") + " …"

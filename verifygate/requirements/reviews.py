"""Answers from people: a signed line counts as long as what was reviewed is still what it was.

A review is evidence of the class `declared`. Where the requirement says `review_suffices` it answers its own query;
it never proves the requirement alone, and without that word it is PARTIAL at best.
"""

from __future__ import annotations

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.model import EvidenceClass, Status
from verifygate.requirements.facts import Answer, Cite, Facts
from verifygate.requirements.queries import Query, ReviewQuery
from verifygate.requirements.symbol_digests import FileSymbols
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.git import file_at

AGAIN = "review it again, and sign with the new digest"


def review(query: Query, facts: Facts, *, suffices: bool) -> Answer:
    """Whether the signed line still holds today, for the file as it stands."""
    asked = query.review
    assert asked is not None  # noqa: S101 - a query of this kind has one
    if asked.date > facts.today:
        return Answer(Status.NOT_MEASURED, f"signed on {asked.date}, which is still to come", remedy="correct the date")
    if asked.until and asked.until < facts.today:
        return Answer(Status.NOT_MEASURED, f"expired: it counted until {asked.until}", remedy=AGAIN)
    now = _digest(asked.of, facts)
    if now is None:
        return Answer(Status.NOT_MEASURED, f"there is no {asked.of}", remedy="correct `of`")
    if trouble := _changed(asked, now, facts):
        return Answer(Status.NOT_MEASURED, trouble, remedy=f"{AGAIN}: {now[:12]}")
    said = f"declared by {asked.by} on {asked.date}: {asked.said}"
    cite = Cite(EvidenceClass.DECLARED, said, asked.of.partition("::")[0], 1)
    if suffices:
        return Answer(Status.PASS, said, (cite,), declared=True)
    remedy = "add a query that is run or measured, or say `review_suffices: true` beside one"
    return Answer(Status.PARTIAL, said, (cite,), declared=True, remedy=remedy)


def _changed(asked: ReviewQuery, now: str, facts: Facts) -> str:
    """Why the review is of something else than what stands there now; empty where it is not."""
    if asked.digest:
        return "" if now.startswith(asked.digest) else f"suspect: {asked.of} has changed since it was reviewed"
    path, _, name = asked.of.partition("::")
    then = file_at(facts.root, asked.commit, path) if facts.root else None
    digest = None if then is None else _digest_of(SourceFile(path, then), name)
    if digest is None:
        return f"suspect: git does not know {asked.of} at {asked.commit}"
    return "" if digest == now else f"suspect: {asked.of} has changed since {asked.commit}"


def _digest(of: str, facts: Facts) -> str | None:
    """The present digest of a file below the root, or of a symbol in it."""
    path, _, name = of.partition("::")
    if facts.root is None:
        return None
    root = facts.root.resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        return None
    return _digest_of(SourceFile(path, read_regular(file, MAX_SOURCE_BYTES)), name)


def _digest_of(file: SourceFile, name: str) -> str | None:
    """A file's digest; or that of a symbol's syntax, which formatting, comments and the lines above leave alone."""
    if not name:
        return file.digest
    try:
        symbol = FileSymbols(file).get(name)
    except SourceUnreadableError:
        return None
    return symbol.digest if symbol else None

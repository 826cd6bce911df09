"""Whether a file of attestations says PASS about what a consumer holds, signed with the key that the consumer trusts.

Like every consumer of in-toto it ignores what it does not know: lines that are no envelope, other predicates, other
subjects, other keys. None of these ever helps; and of what the key did sign about the subject, one bad word refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from verifygate.attestation import envelope
from verifygate.attestation.envelope import STATEMENT_TYPE
from verifygate.attestation.predicates import PASS_PROPERTY, PredicateType, Result
from verifygate.base.strict_json import DocumentError, parsed

WHOSE = "that was given"


@dataclass(frozen=True)
class Asked:
    """What a consumer wants to know: by whom, about what, and with what besides."""

    public_key: bytes
    commit: str = ""
    report: str = ""
    """sha256 of the report file; empty where it does not matter which one it was."""
    configuration: dict[str, str] = field(default_factory=dict)
    """File, as it was given -> sha256: each must be among those that the verdict was given by."""
    properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ruling:
    """What came of a file of attestations."""

    refusals: tuple[str, ...]
    """Why it is not accepted, a line each; empty where it is."""
    accepted: tuple[str, ...] = ()
    """The predicates that say PASS: `test-result`, `svr`."""
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Word:
    """One statement of the key about the subject."""

    kind: PredicateType
    place: str
    refusals: tuple[str, ...]
    configuration: frozenset[str]
    properties: frozenset[str]


class _IgnoredError(Exception):
    """Nothing of the key's about the subject, or of no known type; the message says which."""


def examined(data: bytes, asked: Asked) -> Ruling:
    """Judge a bundle (an envelope a line), or a single envelope. Never raises for what is in it.

    Raises UnusableKeyError where the consumer's own key is none.
    """
    words: list[_Word] = []
    ignored: list[str] = []
    for place, document in _documents(data):
        try:
            words.append(_word(place, document, asked))
        except envelope.UnusableKeyError:
            raise
        except (_IgnoredError, envelope.SignatureError, DocumentError) as problem:
            ignored.append(f"{place}: {problem}")
    if not words:
        return Ruling(tuple(ignored) or ("it is empty",), ignored=tuple(ignored))
    refusals = [f"{word.place}: {why}" for word in words for why in word.refusals] + list(_lacking(words, asked))
    kinds = () if refusals else tuple(sorted({word.kind.value for word in words}))
    return Ruling(tuple(refusals), kinds, tuple(ignored))


def _documents(data: bytes) -> Iterator[tuple[str, Any]]:
    """(`line 2`, document) of each line; the file's only document where it is one. What is no JSON is told as None."""
    try:
        yield "the envelope", parsed(data)
        return
    except DocumentError:
        pass  # several lines, or none that can be read
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {number}", parsed(line)
            except DocumentError:
                yield f"line {number}", None


def _word(place: str, document: Any, asked: Asked) -> _Word:
    """What one envelope says. Raises _IgnoredError, SignatureError or DocumentError where that does not count."""
    if envelope.is_sigstore(document):
        raise _IgnoredError(envelope.SIGSTORE)
    if not envelope.is_envelope(document):
        raise _IgnoredError("not a signed envelope")
    statement = parsed(envelope.verified(document, asked.public_key, WHOSE))
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise _IgnoredError("not an in-toto statement of version 1")
    kind = next((each for each in PredicateType if each.uri == statement.get("predicateType")), None)
    if kind is None:
        raise _IgnoredError("not a predicate that states a verdict")
    subjects = {(name, value) for each in _objects(statement.get("subject")) for name, value in _digests(each)}
    for wanted, algorithm in ((asked.commit, "gitCommit"), (asked.report, "sha256")):
        if wanted and (algorithm, wanted) not in subjects:
            raise _IgnoredError(f"about another {'commit' if algorithm == 'gitCommit' else 'report'}")
    predicate = statement.get("predicate")
    said = predicate if isinstance(predicate, dict) else {}
    digests = {value for each in _objects(said.get("configuration")) for _, value in _digests(each)}
    properties = frozenset(_texts(said.get("properties")))
    refusals = _of_result(said) if kind is PredicateType.TEST_RESULT else _of_svr(properties)
    return _Word(kind, place, tuple(refusals), frozenset(digests), properties)


def _of_result(said: dict[str, Any]) -> Iterator[str]:
    """Why a test result is no PASS: what it says, and what failed, whatever it says."""
    result, failed = said.get("result"), _texts(said.get("failedTests"))
    names = ", ".join(failed[:5]) + (f" and {len(failed) - 5} more" if len(failed) > 5 else "")
    if result != Result.PASSED:
        told = result if result in (Result.WARNED, Result.FAILED) else "no known result"
        yield f"it says {told}" + (f": {names}" if failed else "")
    elif failed:
        yield f"it says {Result.PASSED}, and names what failed: {names}"


def _of_svr(properties: frozenset[str]) -> Iterator[str]:
    if PASS_PROPERTY not in properties:
        yield f"it does not have the property {PASS_PROPERTY}"


def _lacking(words: Iterable[_Word], asked: Asked) -> Iterator[str]:
    """What no statement of the file says, and was asked for."""
    configuration = frozenset().union(*(word.configuration for word in words))
    properties = frozenset().union(*(word.properties for word in words))
    for name, digest in asked.configuration.items():
        if digest not in configuration:
            yield f"the verdict was not given by this `{name}`"
    for name in asked.properties:
        if name not in properties:
            yield f"it does not have the property {name}"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _digests(descriptor: dict[str, Any]) -> Iterable[tuple[str, str]]:
    found = descriptor.get("digest")
    return (
        [(str(name), value) for name, value in found.items() if isinstance(value, str)]
        if isinstance(found, dict)
        else []
    )


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

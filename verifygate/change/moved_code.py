"""Recognise findings whose code was moved or renamed since: the same statement in the same function, elsewhere.

Two functions are the same where they differ in nothing but their names, comments and layout.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from typing import NamedTuple

from verifygate.base.digests import digest_of
from verifygate.base.errors import VerifygateError
from verifygate.model import Finding
from verifygate.model.finding import Place
from verifygate.sources.tree import Sources

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
Identity = tuple[str, str, str]
"""Rule, text of the line, digest of the function."""


class Scope(NamedTuple):
    """The lines of a function, or of a whole file, and a digest of its code."""

    first: int
    last: int
    digest: str


def stood_elsewhere(
    now: Iterable[Finding],
    sources: Sources,
    before: Iterable[Finding],
    sources_before: Sources,
    stood: Set[str],
    renamed: Mapping[str, str],
) -> dict[str, str]:
    """Fingerprints of findings of `now` -> those of the findings of `before` that they were.

    `stood` are the fingerprints of `before`, `renamed` the files that have another path today. Each location of before
    answers for one of today's at most, and for none where its own code is still there: `now` need not be all that is
    found today, and beside that a copy is new.
    """
    unmatched = [(rule, place) for rule, place in _locations(now) if place.fingerprint not in stood]
    if not unmatched:
        return {}
    today = {place.fingerprint for _, place in _locations(now)}
    gone: dict[Identity, list[str]] = {}
    digests = cache(lambda path: _functions(sources_before, path))
    digests_now = cache(lambda path: _functions(sources, path))
    for rule, place in _locations(before):
        if place.fingerprint in today or (identity := _identity(rule, place, digests(place.path))) is None:
            continue
        if identity[2] not in {each.digest for each in digests_now(renamed.get(place.path, place.path))}:
            gone.setdefault(identity, []).append(place.fingerprint)
    moved = {}
    for rule, place in unmatched:
        if (identity := _identity(rule, place, digests_now(place.path))) and gone.get(identity):
            moved[place.fingerprint] = gone[identity].pop(0)
    return moved


def code_around(sources: Sources, path: str, line: int) -> str:
    """A digest of the innermost function around a line, or of the file; it stays where that is moved or renamed."""
    around = [each for each in _functions(sources, path) if each.first <= line <= each.last]
    return around[-1].digest if around else ""


def _locations(findings: Iterable[Finding]) -> Iterator[tuple[str, Place]]:
    """Every location that has a fingerprint of its own, with its rule."""
    for finding in findings:
        yield from ((finding.rule, place) for place in finding.locations if place.fingerprint)


def _identity(rule: str, place: Place, functions: tuple[Scope, ...]) -> Identity | None:
    """What does not change when the code around a location is moved; None where it stands in no readable file."""
    around = [each for each in functions if each.first <= place.line <= each.last]
    return (rule, " ".join(place.text.split()), around[-1].digest) if around else None


def _functions(sources: Sources, path: str) -> tuple[Scope, ...]:
    """A file and its functions, outer ones first."""
    file = sources.get(path)
    if file is None:
        return ()
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError, VerifygateError):
        return ()
    found = [Scope(1, max(1, len(file.lines)), _digest(tree))]
    for node in ast.walk(tree):
        if isinstance(node, _SCOPES):
            found.append(Scope(node.lineno, node.end_lineno or node.lineno, _digest(node)))
    return tuple(sorted(found, key=lambda each: (each.first, -each.last)))


def _digest(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The code without its own name, comments and layout."""
    if isinstance(node, ast.Module):
        return digest_of(ast.dump(node))
    return digest_of("".join(ast.dump(each) for each in (node.args, *node.decorator_list, *node.body)))

"""Suspect links: what was accepted as evidence, held against what stands there now.

A requirement's evidence is gathered anew in every run, so a change does not make it wrong. It makes the *link*
doubtful: is this still the code that the requirement is about, and do these tests still ask the right question? So:

- Where the requirement's words changed, no run can answer that. Its row is PARTIAL until somebody accepts it again.
- Where linked code changed, was lost or is no longer linked, the row stays PASS only on fresh evidence that was not
  changed along with the code: a linked test that is as it was accepted, that passed in this run and (where coverage
  knows) executed the changed code; or an answer that was measured, or recorded from a run. Else it is PARTIAL.
- Code that moved or was renamed with its syntax unchanged, and is linked where it is now, is not suspect; it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from verifygate.model import Check, EvidenceClass, Link, LinkState, RequirementResult, Status
from verifygate.requirements.facts import Cite, listed
from verifygate.requirements.links import Target, Tested, test_symbol
from verifygate.requirements.lock import Accepted
from verifygate.requirements.queries import QueryKind
from verifygate.requirements.spec import Requirement
from verifygate.requirements.symbol_digests import MODULE, Symbols
from verifygate.requirements.trace_matrix import numbered

FRESH = (EvidenceClass.EXECUTED, EvidenceClass.EMULATED, EvidenceClass.MEASURED)
Targets = Mapping[tuple[str, str], Target]


def compared(now: Targets, entry: Accepted | None, symbols: Symbols) -> tuple[Link, ...]:
    """Every link that there is or was, with what became of it."""
    if entry is None:
        return tuple(
            _link(target, LinkState.NOT_ACCEPTED if target.symbol else LinkState.UNREAD) for target in now.values()
        )
    then = {("code", name): digest for name, digest in entry.code.items()}
    then |= {("test", name): digest for name, digest in entry.tests.items()}
    lost = {key: _lost(key, digest, now, then, symbols) for key, digest in then.items() if key not in now}
    moved_from = {link.symbol: key[1] for key, link in lost.items() if link.state is LinkState.MOVED}
    links = [_present(key, target, then, moved_from) for key, target in now.items()]
    links += [link for link in lost.values() if link.state is not LinkState.MOVED]
    return tuple(sorted(links, key=lambda link: (link.role, link.symbol)))


def _link(target: Target, state: LinkState, note: str = "") -> Link:
    symbol = target.symbol
    return Link(
        role="test" if target.role == "test" else "code",
        symbol=target.identifier,
        path=symbol.path if symbol else target.identifier.partition("::")[0],
        line=symbol.line if symbol else 0,
        end_line=symbol.end_line if symbol else 0,
        digest=symbol.digest if symbol else "",
        by=target.by,
        state=state,
        note=note,
    )


def _present(
    key: tuple[str, str], target: Target, then: Mapping[tuple[str, str], str], moved_from: Mapping[str, str]
) -> Link:
    if target.symbol is None:
        return _link(target, LinkState.CHANGED if key in then else LinkState.UNREAD, "it cannot be read")
    if key not in then:
        if was := moved_from.get(target.identifier):
            return _link(target, LinkState.MOVED, f"it was `{was}`")
        return _link(target, LinkState.NEW)
    return _link(target, LinkState.ACCEPTED if target.symbol.digest == then[key] else LinkState.CHANGED)


def _lost(
    key: tuple[str, str], digest: str, now: Targets, then: Mapping[tuple[str, str], str], symbols: Symbols
) -> Link:
    """What became of a link that is not among those of now: moved, still there but linked no more, or gone."""
    role, identifier = key
    here = symbols.get(identifier)
    if here is not None:
        changed = "" if here.digest == digest else ", and it changed"
        target = Target(role, identifier, here, ())
        return _link(target, LinkState.UNLINKED, f"nothing links it any more{changed}")
    path, _, name = identifier.rpartition("::")
    alike = () if name == MODULE else symbols.by_digest.get(digest, ())
    fresh = [symbol for symbol in alike if (role, symbol.id) not in then]
    linked = [symbol for symbol in fresh if (role, symbol.id) in now]
    if len(linked) == 1:
        return _link(now[role, linked[0].id], LinkState.MOVED, f"it was `{identifier}`")
    gone = Target(role, identifier, None, ())
    if fresh:
        where = listed(f"`{symbol.id}`" for symbol in fresh)
        return _link(gone, LinkState.GONE, f"the same syntax stands at {where}, and nothing links it there")
    problem = symbols.problem(path)
    return _link(gone, LinkState.GONE, f"{path}: {problem}" if problem else "nothing with its syntax is left")


def doubts(words: str, links: Iterable[Link], entry: Accepted | None) -> tuple[str, ...]:
    """What changed since the evidence was accepted, a sentence each; empty where nothing did, or nobody accepted it."""
    if entry is None:
        return ()
    at = entry.at[:12]
    said = [f"its words changed since they were accepted at {at}"] if words != entry.words else []
    for link in links:
        if link.state.is_suspect:
            note = f" ({link.note})" if link.note else ""
            said.append(f"the {link.role} `{link.symbol}` {_VERBS[link.state]} since it was accepted at {at}{note}")
    return tuple(said)


_VERBS = {
    LinkState.CHANGED: "changed",
    LinkState.GONE: "went away",
    LinkState.UNLINKED: "is no longer linked",
}


def is_shown_afresh(requirement: Requirement, row: RequirementResult, links: Sequence[Link], tested: Tested) -> bool:
    """Whether evidence of this run, unchanged itself, went through what changed."""
    for query, result in zip(requirement.verify, row.queries, strict=True):
        by_tests = query.kind in (QueryKind.TEST, QueryKind.MARKED_TESTS)
        kinds = {evidence.kind for evidence in result.evidence}
        if not by_tests and result.status is Status.PASS and kinds & set(FRESH):
            return True
    as_accepted = {link.symbol for link in links if link.role == "test" and link.state in _SAME}
    passed = {test for test in row.tests if test in tested.passed and test_symbol(test) in as_accepted}
    changed = [link for link in links if link.role == "code" and link.state is LinkState.CHANGED]
    return bool(passed) and all(_reaches(passed, link, tested) for link in changed)


_SAME = (LinkState.ACCEPTED, LinkState.MOVED)


def _reaches(passed: set[str], link: Link, tested: Tested) -> bool:
    """Whether one of the tests executed the code; where coverage does not know of it, they are taken to."""
    inside = [
        tests
        for (path, line), tests in tested.executed.items()
        if path == link.path and link.line <= line <= link.end_line
    ]
    return not inside or any(passed & tests for tests in inside)


def held_back(
    row: RequirementResult, check: Check, said: tuple[str, ...], *, shown: bool, home: Cite
) -> tuple[RequirementResult, Check]:
    """The row and its check with what is doubtful; PASS becomes PARTIAL unless evidence of this run has `shown` it."""
    lower = bool(said) and not shown and row.status is Status.PASS
    remedy = f"look at it again, and if the evidence still fits: `verifygate evidence trace accept {row.id}`"
    row = row.model_copy(
        update={
            "suspect": said,
            "status": Status.PARTIAL if lower else row.status,
            "unsuspected": row.status if lower else None,
            "remedy": remedy if lower else row.remedy,
        }
    )
    if not said:
        return row, check
    doubt = f"suspect: {'; '.join(said)}"
    if not lower:
        return row, check.model_copy(update={"actual": f"{check.actual}; {doubt}"})
    cites = [home, *(_cite(link) for link in row.links if link.state.is_suspect)]
    evidence = (*numbered(f"{row.id}:suspect", cites), *check.evidence)
    told = {"status": Status.PARTIAL, "actual": f"{doubt}; before that: {check.actual}", "remedy": remedy}
    return row, check.model_copy(update={**told, "evidence": evidence})


def _cite(link: Link) -> Cite:
    summary = f"{link.symbol}: {link.state.value}"
    return Cite(EvidenceClass.STATIC, summary, link.path if link.line else None, link.line or None)

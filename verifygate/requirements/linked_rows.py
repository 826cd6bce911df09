"""The rows with their links: what code and tests each has, what is suspect, and what nothing is linked to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.model import Check, Coverage, EvidenceClass, LinkState, MarkProblem, RequirementResult, Status
from verifygate.requirements.facts import Cite, Facts, listed
from verifygate.requirements.links import targets, tested
from verifygate.requirements.lock import Lock, lock_path, words_digest
from verifygate.requirements.marks import Mark, marks
from verifygate.requirements.spec import Specification
from verifygate.requirements.suspect import compared, doubts, held_back, is_shown_afresh
from verifygate.requirements.symbol_digests import Symbols
from verifygate.requirements.trace_matrix import numbered
from verifygate.sources.discovery import read_sources
from verifygate.sources.tree import Sources

Rows = Sequence[tuple[RequirementResult, Check]]


def linked(
    specification: Specification, rows: Rows, facts: Facts, sources: Sources, lock: Lock | None, root: Path
) -> tuple[list[tuple[RequirementResult, Check]], Coverage, tuple[Check, ...]]:
    """The rows with links, suspect ones lowered; what is not linked; and the checks on both."""
    sources = _with_tests(sources, rows, root)
    symbols = Symbols(sources)
    known = {requirement.id for requirement in specification.spec.requirements}
    found = marks(sources, symbols, known)
    ran = tested(facts)
    done: list[tuple[RequirementResult, Check]] = []
    for requirement, (row, check) in zip(specification.spec.requirements, rows, strict=True):
        entry = lock.requirements.get(requirement.id) if lock else None
        words = words_digest(row.title, row.text, row.revision)
        links = compared(targets(requirement, row, found, facts, symbols), entry, symbols)
        row = row.model_copy(update={"words": words, "links": links})
        said = doubts(words, links, entry)
        same_words = entry is None or entry.words == words
        shown = same_words and is_shown_afresh(requirement, row, links, ran)
        line = specification.lines[requirement.id].requirement
        home = Cite(EvidenceClass.DECLARED, f"{requirement.id} stands here", specification.path, line)
        done.append(held_back(row, check, said, shown=shown, home=home))
    _hold_back_dependents(specification, done)
    coverage = _coverage([row for row, _ in done], found, known, specification.path, lock)
    return done, coverage, (_marks_check(coverage), _suspect_check([row for row, _ in done], coverage))


def _hold_back_dependents(specification: Specification, done: list[tuple[RequirementResult, Check]]) -> None:
    """A requirement passes only while those pass that it depends on: a suspect one holds back what rests on it."""
    requirements = specification.spec.requirements
    changed = True
    while changed:
        changed = False
        status = {row.id: row.status for row, _ in done}
        for index, requirement in enumerate(requirements):
            row, check = done[index]
            unmet = [name for name in requirement.depends if status[name] is not Status.PASS]
            if row.status is Status.PASS and unmet:
                said = (*row.suspect, f"it depends on {listed(f'`{name}`' for name in unmet)}, which is suspect")
                line = specification.lines[requirement.id].requirement
                home = Cite(EvidenceClass.DECLARED, f"{requirement.id} stands here", specification.path, line)
                done[index] = held_back(row, check, said, shown=False, home=home)
                changed = True


def _with_tests(sources: Sources, rows: Rows, root: Path) -> Sources:
    """The sources, and the files of linked tests that are not among them: their digests count as well."""
    files = {test.partition("::")[0] for row, _ in rows for test in row.tests}
    missing = sorted(path for path in files if path.endswith(".py") and sources.get(path) is None)
    inside = [
        path for path in missing if (root / path).is_file() and (root / path).resolve().is_relative_to(root.resolve())
    ]
    return Sources([*sources, *read_sources(root, inside)], sources.unreadable) if inside else sources


def _coverage(
    rows: Sequence[RequirementResult], found: Iterable[Mark], known: set[str], spec: str, lock: Lock | None
) -> Coverage:
    linked_now = {row.id: {link.role for link in row.links if link.by} for row in rows}
    every = list(found)
    return Coverage(
        orphans=tuple(_problem(mark, "no such requirement") for mark in every if mark.requirement not in known),
        stray=tuple(_problem(mark, mark.problem) for mark in every if mark.requirement in known and mark.problem),
        uncovered=tuple(name for name, roles in linked_now.items() if not roles),
        unlinked=tuple(row.id for row in rows if _has_no_code(row, linked_now[row.id])),
        lock=lock_path(spec) if lock else "",
        not_accepted=tuple(row.id for row in rows if row.id not in lock.requirements) if lock else (),
        dropped=tuple(name for name in lock.requirements if name not in known) if lock else (),
    )


def _has_no_code(row: RequirementResult, roles: Collection[str]) -> bool:
    return "code" not in roles and bool(roles or row.measurements)


def _problem(mark: Mark, problem: str) -> MarkProblem:
    return MarkProblem(path=mark.path, line=mark.line, requirement=mark.requirement, problem=problem)


def _marks_check(coverage: Coverage) -> Check:
    """A mark that names nothing, or stands at nothing, proves nothing for anybody; it blocks nobody either."""
    wrong = (*coverage.orphans, *coverage.stray)
    cites = [Cite(EvidenceClass.STATIC, f"{at.requirement}: {at.problem}", at.path, at.line) for at in wrong]
    said = listed(f"{at.path}:{at.line} {at.requirement} ({at.problem})" for at in wrong)
    return Check(
        id="requirements.marks",
        title="Marks in the code name requirements, and stand at code",
        status=Status.FAIL if wrong else Status.PASS,
        required=False,
        weight=0,
        expected="every `# requirement: ID` names one of the specification, on or right above what is marked",
        actual=said or "every mark does",
        evidence=numbered("marks", cites),
        remedy="correct the mark, or add the requirement" if wrong else "",
    )


def _suspect_check(rows: Sequence[RequirementResult], coverage: Coverage) -> Check:
    """Shows what changed since it was accepted, also where fresh evidence keeps a row at PASS."""
    suspect = [row for row in rows if row.suspect]
    parts = [f"{row.id}: {'; '.join(row.suspect)}" for row in suspect]
    if coverage.dropped:
        parts.append(f"accepted, and no longer in the specification: {listed(coverage.dropped)}")
    moved = sum(link.state is LinkState.MOVED for row in rows for link in row.links)
    fine = f"{counted(sum(len(row.links) for row in rows), 'link')} held against {coverage.lock}"
    status = Status.PARTIAL if parts else Status.PASS
    return Check(
        id="requirements.suspect-links",
        title="Words, code and tests are as they were accepted",
        status=status if coverage.lock else Status.NOT_APPLICABLE,
        required=False,
        weight=0,
        expected="nothing changed since `verifygate evidence trace accept`",
        actual=("; ".join(parts) or fine + (f", {moved} of them moved" if moved else ""))
        if coverage.lock
        else "nothing was accepted yet: there is no lock",
        remedy="look at what changed, then `verifygate evidence trace accept`" if parts else "",
    )

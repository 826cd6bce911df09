"""Requirements for which only a marked test is missing: one check tells of all of them, so that a first
specification adds one reason to block and not one for each of its requirements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.model import Check, EvidenceClass, RequirementResult, Status
from verifygate.requirements.facts import Cite, Facts, listed
from verifygate.requirements.queries import QueryKind
from verifygate.requirements.spec import Requirement, Specification
from verifygate.requirements.trace_matrix import Row, numbered
from verifygate.sources.discovery import walk

ID = "requirements.marked-tests"
REMEDY = "`verifygate evidence trace mark ID path/to/test.py::test_name` writes the mark"


def told_together(
    specification: Specification, rows: Sequence[Row], facts: Facts
) -> tuple[list[Row], tuple[Check, ...]]:
    """The rows, those that lack a marked test alone no longer required by themselves; and the check that is, for them.

    Nothing is lowered by it: that check fails, is required, and nothing waives it.
    """
    found: list[Row] = []
    lacking: list[str] = []
    for requirement, (row, check) in zip(specification.spec.requirements, rows, strict=True):
        if check.required and _lacks_marks_alone(requirement, row, facts):
            lacking.append(row.id)
            found.append((row, check.model_copy(update={"required": False})))
        else:
            found.append((row, check))
    asked = [each for each in specification.spec.requirements if _asks_for_marks(each)]
    return found, (_check(specification, lacking),) if asked else ()


def asking(specification: Specification, root: Path) -> list[tuple[Requirement, list[str]]]:
    """The requirements that ask for marked tests, each with the files of the project that write its mark."""
    texts = {path.relative_to(root).as_posix(): _bytes(path, root) for path in walk(root)}
    found = []
    for each in specification.spec.requirements:
        if _asks_for_marks(each):
            mark = re.compile(rb"requirement\(\s*[\"']" + re.escape(each.id.encode()) + rb"[\"']")
            found.append((each, [path for path, data in texts.items() if mark.search(data)]))
    return found


def _bytes(path: Path, root: Path) -> bytes:
    try:
        return read_regular(path, MAX_SOURCE_BYTES, tree=root)
    except OSError:  # the static stage says so
        return b""


def _asks_for_marks(requirement: Requirement) -> bool:
    return any(query.kind is QueryKind.MARKED_TESTS for query in requirement.verify)


def _lacks_marks_alone(requirement: Requirement, row: RequirementResult, facts: Facts) -> bool:
    """Whether no test names it, and nothing else of it failed: what was not measured can wait until one does."""
    if facts.marked.get(requirement.id) or row.status is not Status.FAIL:
        return False
    failed = [
        query.kind
        for query, result in zip(requirement.verify, row.queries, strict=True)
        if result.status in (Status.FAIL, Status.PARTIAL)
    ]
    return bool(failed) and all(kind is QueryKind.MARKED_TESTS for kind in failed)


def _check(specification: Specification, lacking: Sequence[str]) -> Check:
    line = specification.lines[lacking[0]].requirement if lacking else 1
    home = Cite(EvidenceClass.DECLARED, "the specification asks for marked tests here", specification.path, line)
    number = counted(len(lacking), "requirement")
    have = "has" if len(lacking) == 1 else "have"
    return Check(
        id=ID,
        title="Tests name the requirements that they verify",
        status=Status.FAIL if lacking else Status.PASS,
        weight=0,
        expected="a test is marked with each requirement that asks for one",
        actual=f"{number} {have} no marked test: {listed(lacking)}"
        if lacking
        else "every one that asks for one has it",
        evidence=numbered("marked-tests", (home,)),
        remedy=REMEDY if lacking else "",
    )

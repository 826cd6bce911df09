"""What each requirement is linked to: code by marks and constructs, tests by marks and queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from verifygate.model import ExecutionDetails, RequirementResult
from verifygate.requirements import code_answers
from verifygate.requirements.facts import Facts, Missing, is_test_file
from verifygate.requirements.marks import Mark
from verifygate.requirements.queries import QueryKind
from verifygate.requirements.spec import Requirement
from verifygate.requirements.symbol_digests import Symbol, Symbols


@dataclass(frozen=True)
class Target:
    """A symbol that a requirement is linked to now, and what links it."""

    role: str
    """`code` or `test`."""
    identifier: str
    symbol: Symbol | None
    """None where its file cannot be read."""
    by: tuple[str, ...]


@dataclass(frozen=True)
class Tested:
    """The tests as this run saw them."""

    passed: frozenset[str]
    """Ids of those that passed, also of those that passed with CUDA emulated."""
    executed: Mapping[tuple[str, int], frozenset[str]]
    """Path and line of a function -> the tests that executed it."""


def targets(
    requirement: Requirement, row: RequirementResult, marks: Iterable[Mark], facts: Facts, symbols: Symbols
) -> dict[tuple[str, str], Target]:
    """Role and symbol id -> the link, in order of place."""
    found: dict[tuple[str, str], Target] = {}

    def add(role: str, identifier: str, symbol: Symbol | None, by: str) -> None:
        earlier = found.get((role, identifier))
        whys = dict.fromkeys((*(earlier.by if earlier else ()), by))
        found[role, identifier] = Target(role, identifier, symbol, tuple(whys))

    for mark in marks:
        if mark.symbol is not None and mark.requirement == requirement.id:
            role = "test" if is_test_file(mark.path) else "code"
            add(role, mark.symbol.id, mark.symbol, f"mark {mark.path}:{mark.line}")
    for query in requirement.verify:
        if query.kind is not QueryKind.CONSTRUCT or query.absent:
            continue
        for construct in code_answers.places(query, facts):
            of_file = symbols.of(construct.path)
            symbol = of_file.at(construct.line) if of_file else None
            identifier = symbol.id if symbol else f"{construct.path}::{construct.symbol}"
            add("code", identifier, symbol, f"construct {construct.kind.value}")
    for test in row.tests:
        identifier = test_symbol(test)
        add("test", identifier, symbols.get(identifier), "test")
    return dict(sorted(found.items()))


def test_symbol(identifier: str) -> str:
    """The symbol of a test's id: `tests/test_a.py::TestB::test_c[x-1]` is `tests/test_a.py::TestB.test_c`."""
    path, _, names = identifier.partition("[")[0].partition("::")
    return f"{path}::{names.replace('::', '.')}" if names else path


def tested(facts: Facts) -> Tested:
    """What ran and passed in this run, and what it went through. Foreign results are of another run."""
    execution = facts.execution
    if isinstance(execution, Missing):
        return Tested(frozenset(), {})
    return Tested(_passed(execution), _executed(execution))


def _passed(execution: ExecutionDetails) -> frozenset[str]:
    own = {test.id for test in execution.tests if test.outcome == "passed"}
    return frozenset(own | {test.id for test in execution.emulated if test.standing == "passed"})


def _executed(execution: ExecutionDetails) -> dict[tuple[str, int], frozenset[str]]:
    return {
        (function.path, function.line): frozenset((*function.tests, *function.emulated))
        for function in execution.functions
    }

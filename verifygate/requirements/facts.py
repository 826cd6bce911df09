"""What the earlier stages established, as a requirement's queries look it up; and the shape of an answer."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar

from verifygate.model import (
    EmulatedTest,
    EvidenceClass,
    ExecutionDetails,
    Outcome,
    StageResult,
    StaticDetails,
    Status,
    TestOutcome,
)

D = TypeVar("D", StaticDetails, ExecutionDetails)
SHOWN = 5
"""Places cited for one answer; the answer's text gives the whole number."""


@dataclass(frozen=True)
class Cite:
    """A fact that an answer rests on; it becomes an Evidence once it has an id."""

    kind: EvidenceClass
    summary: str
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Answer:
    """What the evidence says to one query."""

    status: Status
    actual: str
    cites: tuple[Cite, ...] = ()
    code: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    measurements: tuple[str, ...] = ()
    remedy: str = ""
    declared: bool = False
    """Whether nothing but somebody's word stands behind it."""


@dataclass(frozen=True)
class Missing:
    """Why a stage's results are not there, and how to get them."""

    reason: str
    remedy: str

    @property
    def answer(self) -> Answer:
        return Answer(Status.NOT_MEASURED, self.reason, remedy=self.remedy)


@dataclass(frozen=True)
class Test:
    """A test as it ended, and what that is worth: `executed`, `emulated`, or `declared` by a file from elsewhere."""

    __test__ = False

    outcome: TestOutcome
    kind: EvidenceClass
    source: str = ""
    """The file that tells of it, where the gate did not run it."""

    @property
    def id(self) -> str:
        return self.outcome.id


@dataclass(frozen=True)
class Facts:
    """The results of the earlier stages and the paths of the audited sources."""

    results: Mapping[str, StageResult]
    paths: tuple[str, ...] = ()
    root: Path | None = None
    """Where files that a person reviewed lie."""
    today: dt.date = dt.date.min
    foreign: tuple[Test, ...] = ()
    """Tests that a JUnit file from elsewhere tells of."""

    def stage(self, name: str) -> StageResult | Missing:
        """The stage's result where it completed. A half-done stage proves nothing, so its result counts as missing."""
        result = self.results.get(name)
        if result is None:
            return Missing(f"the {name} stage did not run", "run with --stage all")
        if result.outcome is Outcome.ERRORED:
            return Missing(f"the {name} stage errored: {result.reason}", f"repair the {name} stage, then run it again")
        if result.outcome is Outcome.NOT_APPLICABLE:
            return Missing(f"the {name} stage had nothing to go on", f"configure the {name} stage")
        return result

    def _details(self, name: str, kind: type[D]) -> D | Missing:
        result = self.stage(name)
        if isinstance(result, Missing):
            return result
        if isinstance(result.details, kind):
            return result.details
        return Missing(f"the {name} stage gave no details", "run with --stage all")

    @property
    def static(self) -> StaticDetails | Missing:
        return self._details("static", StaticDetails)

    @property
    def execution(self) -> ExecutionDetails | Missing:
        return self._details("execution", ExecutionDetails)

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        """Every test that ran here or elsewhere; one skipped for want of CUDA as it ended where CUDA is emulated.

        A file that was skipped as a whole gives way to the tests in it that ran there.
        """
        execution = self.execution
        if isinstance(execution, Missing):
            return self.foreign
        emulated = {one.id: Test(_as_test(one), EvidenceClass.EMULATED) for one in execution.emulated}
        files = {identifier.partition("::")[0] for identifier in emulated} - set(emulated)
        stand = {
            test.id: emulated.get(test.id, Test(test, EvidenceClass.EXECUTED))
            for test in execution.tests
            if test.id not in files
        }
        return (*(stand | emulated).values(), *self.foreign)

    @cached_property
    def marked(self) -> Mapping[str, tuple[Test, ...]]:
        """Id of a requirement -> the tests that name it."""
        found: dict[str, list[Test]] = {}
        for test in self.tests:
            for identifier in dict.fromkeys(test.outcome.requirements):
                found.setdefault(identifier, []).append(test)
        return {identifier: tuple(tests) for identifier, tests in found.items()}

    def covers(self, within: str | None) -> bool:
        """Whether any audited file lies within the pattern: of no files, everything is true."""
        return any(in_scope(path, within) for path in self.paths)


def _as_test(one: EmulatedTest) -> TestOutcome:
    outcome = {"passed": "passed", "failed": "failed"}.get(one.standing, "skipped")
    return TestOutcome(
        id=one.id, outcome=outcome, reason=one.reason, path=one.path, line=one.line, requirements=one.requirements
    )


def in_scope(path: str, within: str | None) -> bool:
    """Whether a file counts: it fits the pattern, and is no test file unless the pattern itself names tests."""
    if within and not fnmatchcase(path, within):
        return False
    return not is_test_file(path) or (within is not None and is_test_file(within))


def is_test_file(path: str) -> bool:
    """Whether a path is a test's by pytest's names: AMP code that only a test holds is no feature of the project."""
    *folders, name = PurePosixPath(path).parts or ("",)
    in_tests = any(folder in ("test", "tests") for folder in folders)
    return in_tests or name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py")


def matches(name: str, wanted: str) -> bool:
    """Whether an id is the wanted one, lies below it (`file.py`, `file.py::Class`), or fits its `*` and `?`."""
    if name == wanted:
        return True
    if "*" in wanted or "?" in wanted:
        pattern = re.escape(wanted).replace(r"\*", ".*").replace(r"\?", ".")
        return re.fullmatch(pattern, name, re.DOTALL) is not None
    begin = wanted.rstrip("/:")
    return name.startswith((f"{begin}::", f"{begin}[", f"{begin}/"))


def together(statuses: Iterable[Status]) -> Status:
    """The status of a whole: FAIL if any part fails, PASS if all pass, PARTIAL if some do, else NOT MEASURED."""
    found = list(statuses)
    if Status.FAIL in found:
        return Status.FAIL
    if found and all(status is Status.PASS for status in found):
        return Status.PASS
    if any(status in (Status.PASS, Status.PARTIAL) for status in found):
        return Status.PARTIAL
    return Status.NOT_MEASURED


def listed(items: Iterable[str]) -> str:
    """The first few of `items`, and how many more there are."""
    every = list(items)
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + more

"""Test results from elsewhere: JUnit XML that another runner wrote, as evidence of the class that the settings give it.

The file may be anything, so it is read by a parser that refuses document types and entities, whole or not at all. What
a suite says about itself is held against the cases in it: where they differ, the file proves nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree.ElementTree import ParseError

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import TooLargeError, read_regular
from verifygate.config.settings import ForeignResults
from verifygate.model import EvidenceClass, ForeignFile, TestOutcome
from verifygate.requirements.facts import Test

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_BYTES = 64 * 1024 * 1024
Ended = Literal["passed", "failed", "skipped", "error", "flaky"]
_ENDS: tuple[tuple[str, Ended], ...] = (
    ("error", "error"),
    ("failure", "failed"),
    ("flakyFailure", "flaky"),
    ("flakyError", "flaky"),
    ("skipped", "skipped"),
)
"""Element in a case -> how it ended, the worst first; a case without any of them passed."""
REQUIREMENT = "requirement"
"""Name of the property by which a case names a requirement: `record_property("requirement", "AMP-03")` in pytest."""


@dataclass(frozen=True)
class Foreign:
    """What one file tells."""

    file: ForeignFile
    tests: tuple[Test, ...]


def read_foreign(root: Path, asked: Iterable[ForeignResults]) -> tuple[Foreign, ...]:
    """Read the files. Raises UsageError, in one line, for one that is no whole JUnit file."""
    return tuple(_file(root, each.file, EvidenceClass(each.kind)) for each in asked)


def _file(root: Path, path: str, kind: EvidenceClass) -> Foreign:
    data = _bytes(root, path)
    suites = _parsed(data, path)
    cases = [element for element in suites.iter() if _tag(element) == "testcase"]
    problem = next(_contradictions(suites), "")
    if problem:
        kind = EvidenceClass.DECLARED
    tests = tuple(Test(_outcome(case), kind, path) for case in cases)
    counts = Counter(test.outcome.outcome for test in tests)
    file = ForeignFile(
        path=path,
        digest=hashlib.sha256(data).hexdigest(),
        kind=kind,
        tests=len(tests),
        outcomes=tuple(sorted(counts.items())),
        problem=problem,
    )
    return Foreign(file, tests)


def _bytes(root: Path, path: str) -> bytes:
    file = root / path
    try:
        return read_regular(file, MAX_BYTES, tree=root)
    except TooLargeError:
        raise UsageError("larger than 64 MiB", where=path, remedy="give one file for each suite") from None
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", where=path, remedy="let the other runner write it before the gate runs"
        ) from None


def _parsed(data: bytes, path: str) -> Element:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        suites: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        raise UsageError(
            f"it declares a document type or an entity ({type(error).__name__})",
            where=path,
            remedy="a JUnit file needs neither: check the program that wrote it",
        ) from None
    except (ParseError, ValueError, LookupError) as error:  # LookupError: an encoding that there is not
        line = getattr(error, "position", (1, 0))[0]
        problem = str(error).partition(":")[0]
        raise UsageError(
            f"not valid XML: {problem}", where=f"{path}:{line}", remedy="let the runner write the whole file again"
        ) from None
    if _tag(suites) not in ("testsuites", "testsuite"):
        raise UsageError(
            f"its root is `{_tag(suites)}`, not `testsuites` or `testsuite`",
            where=path,
            remedy="give a JUnit XML file, such as `pytest --junit-xml=FILE` writes",
        )
    return suites


def _contradictions(suites: Element) -> Iterator[str]:
    """Where a suite says that it holds other than it does."""
    for suite in suites.iter():
        if _tag(suite) != "testsuite" or (said := suite.get("tests")) is None:
            continue
        held = sum(_tag(element) == "testcase" for element in suite.iter())
        if said != str(held):
            yield f"the suite `{suite.get('name', '')}` says that it has {said} tests, and holds {held}"


def _outcome(case: Element) -> TestOutcome:
    found = {_tag(element): element for element in case}
    tag, ended = next(((tag, ended) for tag, ended in _ENDS if tag in found), ("", "passed"))
    reason = (found[tag].get("message") or "") if tag else ""
    name, file, line = case.get("name") or "unnamed", case.get("file") or "", case.get("line") or ""
    return TestOutcome(
        id=f"{_home(case.get('classname') or '', file)}::{name}".lstrip(":"),
        outcome=ended,
        reason=" ".join(reason.split())[:200],
        path=file,
        line=int(line) if line.isdigit() and len(line) < 9 else 0,
        requirements=_requirements(case),
    )


def _home(classname: str, file: str) -> str:
    """What stands before the name: `tests/test_a.py::TestB` where the case tells its file, its classname else."""
    if not file:
        return classname
    module = file.removesuffix(".py").replace("/", ".")
    inner = classname.removeprefix(module).strip(".") if classname.startswith(module) else ""
    return "::".join([file, *(inner.split(".") if inner else ())])


def _requirements(case: Element) -> tuple[str, ...]:
    named = (
        element.get("value") or ""
        for element in case.iter()
        if _tag(element) == "property" and element.get("name") == REQUIREMENT
    )
    return tuple(dict.fromkeys(filter(None, named)))


def _tag(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]

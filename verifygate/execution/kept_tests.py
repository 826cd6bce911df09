"""`execution.tests-collected`: what the source holds of tests is what ran; and a change took none of it away.

The question is asked of the source and of the run's own account, so what the project's settings, conftests and plugins
do to the collection shows. Of a change (`--since`) the tests of its base are asked for as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from verifygate.base.counts import counted
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.execution.collected_tests import PytestConfig, is_test
from verifygate.execution.hidden_tests import Loss, Missing, Suite, hooks_of
from verifygate.execution.run_integrity import EVIDENCE_LIMIT, Account
from verifygate.execution.stream import Record
from verifygate.execution.tests_in_source import SourceTest, SourceTests, read_tests
from verifygate.model import Check, Evidence, EvidenceClass, Status
from verifygate.sources import git

ID = "execution.tests-collected"
SHOWN = 5
_COLLECT = "let these tests be collected and run; if they need not, name them in `execution.uncollected`"
_PUT_BACK = "put back what this change takes out of the tests, or let it answer for why in a waiver of the base"
REMEDIES = {Loss.NOT_RUN: f"{_COLLECT}, or waive `{ID}`", Loss.GONE: _PUT_BACK, Loss.WEAKER: _PUT_BACK}


def tests_collected(
    suite: Suite,
    account: Account,
    accepted: Iterable[str],
    since: str,
    ran: Container[str],
    taken: Iterable[Missing],
) -> Check:
    """The check. `accepted` are the patterns of tests that need not run.

    With `since`, what was hidden before the change does not block, and what the change took away does: `ran` are tests
    that are missing now and passed there, `taken` are those of `taken_tests`.
    """
    patterns = tuple(accepted)
    found = [_with_past(each, suite, ran, since) for each in suite.missing(account.record, account.judged)]
    missing = [each for each in found if not _is_accepted(each, patterns)]
    blocking = [each for each in missing if each.ran or (each.hidden and not (since and _stood(each, suite, since)))]
    lost = [each for each in taken if not _is_accepted(each, patterns)]
    blocking += [each for each in lost if each.hidden]
    others = [each for each in [*missing, *lost] if each not in blocking]
    known = account.record.items is not None
    told = blocking or others
    status = Status.PARTIAL if told else Status.PASS if known else Status.NOT_MEASURED
    parts = [_told(some, loss.value) for loss in Loss if (some := [each for each in blocking if each.loss is loss])]
    parts += [_told(others, "not among the tests that ran, or weaker")] if others else []
    if accepted_here := len(found) - len(missing):
        parts.append(f"{accepted_here} accepted by `execution.uncollected`")
    total = sum(len(file.tests) for file in suite.files.values())
    return Check(
        id=ID,
        title="Every test in the source is collected, and none was emptied",
        status=status,
        required=bool(blocking),
        expected="each test function that stands in the source is among the tests of the run",
        actual="; ".join(parts) or (f"all {total} in the source" if known else "the run did not come to collect them"),
        evidence=tuple(_evidence([*blocking, *others])),
        remedy="; ".join(dict.fromkeys(REMEDIES[loss] for loss in Loss if loss in {each.loss for each in told})),
    )


def _with_past(each: Missing, suite: Suite, ran: Container[str], since: str) -> Missing:
    """A missing test that passed before the change is hidden by the change, whatever it is that hides it."""
    if not any(test in ran for test in suite.tests_of(each)):
        return each
    return replace(each, why=f"{each.why}; it ran at {since[:12]}", ran=True)


def _stood(each: Missing, suite: Suite, since: str) -> bool:
    """Whether what hides a test hid it before the change: the same settings, the same hooks, the same file."""
    if each.by == suite.config.file:
        return suite.settled and git.file_at(suite.root, since, each.path) is not None
    before, by = (git.file_at(suite.root, since, path) for path in (each.path, each.by))
    if before is None or by is None:
        return False
    if each.by != each.path:
        return hooks_of(by) == hooks_of(read_regular(suite.root / each.by, MAX_SOURCE_BYTES, tree=suite.root))
    read = read_tests(each.path, before)
    mine = [test for test in read.tests if not each.name or test.name == each.name] if read is not None else []
    return bool(mine) and all(test.switched_off or test.emptied for test in mine)


def _told(found: list[Missing], word: str) -> str:
    shown = ", ".join(f"{each.id} ({each.why})" for each in found[:SHOWN])
    return f"{len(found)} {word}: {shown}" + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def _evidence(found: Iterable[Missing]) -> Iterator[Evidence]:
    for number, each in enumerate(list(found)[:EVIDENCE_LIMIT], 1):
        yield Evidence(
            id=f"E-{ID}-{number}",
            kind=EvidenceClass.STATIC,
            summary=f"{each.id}: {each.why}",
            path=each.path or None,
            line=each.line or None,
        )


def _is_accepted(each: Missing, patterns: Iterable[str]) -> bool:
    return any(fnmatch(each.path, pattern) or fnmatch(each.id, pattern) for pattern in patterns)


def taken_tests(suite: Suite, record: Record, since: str) -> Iterator[Missing]:
    """Tests of the base that are gone (hidden), assert less than they did, or run in fewer cases.

    One that was moved or renamed is found by its name or its body. One whose subject is gone as well went with it.
    """
    items = [*(record.items or ()), *record.deselected]
    names = {each.partition("[")[0].rpartition("::")[2] for each in items}
    if git.changed(suite.root, since, suffix="conftest.py"):
        items = list(record.items or ())  # cases that a hook of the change takes out are no longer run
    cases = Counter(each.partition("[")[0] for each in items)
    now = {file.path: file for file in suite.files.values()}
    kept = [test for file in now.values() for test in _not_passed_over(file, record)]
    names |= {test.function for test in kept}
    shapes = {test.shape for test in kept}
    renamed = git.renames(suite.root, since)
    sources = {file.path: file.data for file in git.files_at(suite.root, since)}
    gone = {path for path in sources if not (suite.root / path).exists() and path not in renamed}
    for path, data in sorted(sources.items()):
        if not (is_test(Path(path)) and _is_collected(path, suite.config, suite)):
            continue
        before = read_tests(path, data)
        here = now.get(renamed.get(path, path))
        if before is None or (here is None and not _is_emptied(suite.root / renamed.get(path, path))):
            continue  # it cannot be read, or its tests are kept from the run by a way that is told elsewhere
        present = {test.name: test for test in here.tests} if here is not None else {}
        for test in before.tests:
            if (after := present.get(test.name)) is None:
                if test.function not in names and test.shape not in shapes:
                    why = f"was there at {since[:12]} and is gone"
                    hidden = test.sure and not _subject_is_gone(before, gone)
                    yield Missing(path, 0, test.name, why, path, hidden, loss=Loss.GONE)
            elif after.asserts < test.asserts and after.shape != test.shape:
                why = f"has {counted(after.asserts, 'assert')}, and had {test.asserts} at {since[:12]}"
                where = here.path if here else path
                yield Missing(where, after.line, test.name, why, path, after.asserts == 0, loss=Loss.WEAKER)
            elif here is not None and 0 < (count := cases[f"{here.path}::{test.name}"]) < test.cases:
                why = f"runs in {counted(count, 'case')}, and {test.cases} were written at {since[:12]}"
                yield Missing(here.path, after.line, test.name, why, path, loss=Loss.WEAKER)


def _is_emptied(file: Path) -> bool:
    """Whether a file is gone, or is there and defines no test any more, but perhaps under a condition."""
    try:
        read = read_tests(file.name, read_regular(file, MAX_SOURCE_BYTES)) if file.exists() else None
    except OSError:
        return False
    return not file.exists() or (read is not None and not read.tests)


def computed_cases(suite: Suite, since: str) -> tuple[str, ...]:
    """Files with tests that are parametrised over what is worked out, where the change may alter it: something below
    the top folder of the tests, or a module that they import."""
    changed = git.changed(suite.root, since)
    tops = {path.partition("/")[0] for path in changed if "/" in path}
    modules = {PurePosixPath(path).stem for path in changed if path.endswith(".py")}
    return tuple(
        path
        for path, file in sorted(suite.files.items())
        if any(test.cases == 0 and not test.emptied for test in file.tests)
        and (path.partition("/")[0] in tops or any(modules & set(name.split(".")) for name in file.imports))
    )


def _not_passed_over(file: SourceTests, record: Record) -> Iterator[SourceTest]:
    """The tests of a file but for those that pytest does not know although it collected others of the file."""
    known = {each.partition("[")[0] for each in (*(record.items or ()), *record.deselected)}
    ids = {f"{file.path}::{test.name}": test for test in file.tests}
    is_known = not known.isdisjoint(ids)
    yield from (test for name, test in ids.items() if name in known or not is_known)


def _is_collected(path: str, config: PytestConfig, suite: Suite) -> bool:
    """Whether the run would have asked for a file at this path."""
    folders, name = path.split("/")[:-1], path.rpartition("/")[2]
    if any(fnmatch(folder, pattern) for folder in folders for pattern in config.norecursedirs):
        return False
    below = any(choice == "." or path == choice or path.startswith(f"{choice}/") for choice in suite.chosen)
    return below and any(fnmatch(name, pattern) for pattern in config.python_files)


def _subject_is_gone(tests: SourceTests, gone: Iterable[str]) -> bool:
    """Whether a module that these tests import is gone as well."""
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in gone}
    return any(name == module or module.endswith(f".{name}") for name in tests.imports for module in modules)

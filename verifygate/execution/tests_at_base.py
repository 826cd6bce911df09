"""Tests that fail or are put aside now: were they so before the change?

The commit that the change began at is written to a folder of its own, and these tests alone run there, as they were
then. What cannot be known so (the code of today was imported, the run did not end) is said, and is no excuse.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, copy_or_link, read_regular
from verifygate.execution.collected_tests import read_config
from verifygate.execution.copies import copy_project
from verifygate.execution.emulated import ID as EMULATED
from verifygate.execution.emulated import INSTRUMENT as EMULATE
from verifygate.execution.emulated import UNDER_EMULATION
from verifygate.execution.hidden_tests import TEST_FOLDERS, Loss, Missing
from verifygate.execution.kept_tests import computed_cases, taken_tests
from verifygate.execution.outcomes import Judged
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import Session, SessionOptions, bounds_of, run_pytest
from verifygate.execution.steps import Watched, account_of
from verifygate.model import Check, Status
from verifygate.process.subject import StartOptions
from verifygate.sources import git
from verifygate.sources.revision_tree import tree_of

RED = ("failed", "error", "started")
ASIDE = ("skipped", "xfailed")
ABSENT = "absent"
PATH_SECONDS = 30.0


class UnknownError(Exception):
    """What the tests did at the commit cannot be known; the message says why."""


@dataclass(frozen=True)
class Then:
    """What became of one test at the commit."""

    outcome: str
    reason: str = ""

    @property
    def kind(self) -> str:
        """What was raised: a test that failed for want of a file then is not the one that fails an assertion now."""
        return self.reason.partition(":")[0]


def with_before(watched: Watched) -> Watched:
    """The run with what those of its tests that fail or are put aside did at the commit that the change began at."""
    context, account = watched.context, watched.account
    asked = _asked(watched)
    if not context.since or not asked:
        return watched
    since = context.since
    context.progress(f"{counted(len(asked), 'test')} failed or put aside: were they so at {since[:12]}?")
    account = replace(account, base=since[:12])
    try:
        with _at_base(watched) as there:
            then = there.outcomes(tuple(asked))
            by_name = {shown: test for test, shown in asked.items()}
            judged = [
                _compared(one, then[test], there.left_alone(test)) if (test := by_name.get(one.test.id)) else one
                for one in account.judged
            ]
    except UsageError as error:
        return replace(watched, account=replace(account, base_problem=error.problem))
    except (UnknownError, OSError) as error:
        return replace(watched, account=replace(account, base_problem=str(error)))
    return replace(watched, account=replace(account, judged=judged))


def with_lost(watched: Watched) -> Watched:
    """The run with those tests that it did not have, and that passed at the commit that the change began at.

    What took them away may be anything: a hook that asks something about the machine, an option set by a conftest. So
    the source is not asked why; they run in the tree of that commit, with what chooses tests there.
    """
    account, context = watched.account, watched.context
    found = watched.suite.missing(account.record, account.judged) if context.since else []
    lost = tuple(dict.fromkeys(test for each in found if not each.hidden for test in watched.suite.tests_of(each)))
    if not lost:
        return watched
    context.progress(f"{counted(len(lost), 'test')} of the source did not run: did they at {context.since[:12]}?")
    try:
        with _at_base(watched) as there:
            then = there.run(lost, "lost")
    except (UsageError, UnknownError, OSError):
        return watched  # they stay listed, and nothing is said of the past
    return replace(watched, lost=frozenset(test for test in lost if then[test].outcome == "passed"))


def with_taken(watched: Watched) -> Watched:
    """The run with what the change took from the tests of where it began.

    A test that is weaker now may be an honest one, so it is asked as it was: its earlier text has to pass at that
    commit. Where one of its asserts fails in the tree of today, the test was made weaker to pass, and counts as hidden.
    """
    since = watched.context.since
    taken = tuple(taken_tests(watched.suite, watched.account.record, since)) if since else ()
    if since and (files := computed_cases(watched.suite, since)):
        taken += tuple(_fewer_cases(watched, files, {each.id for each in taken}))
    watched = replace(watched, taken=taken)
    tests = tuple(each.id for each in taken if each.line and not each.hidden)
    if not tests:
        return watched
    watched.context.progress(f"{counted(len(tests), 'test')} weaker than at {since[:12]}: do they pass as they were?")
    try:
        with _at_base(watched) as there:
            then, now = there.cases(tests, "then"), there.cases(tests, "today", there.of_today(tests))
    except (UsageError, UnknownError, OSError):
        return watched  # they stay listed as weaker
    failed = {case for case, one in now.items() if one.outcome == "failed" and one.kind == "AssertionError"}
    failed = {case.partition("[")[0] for case in failed if case in then and then[case].outcome == "passed"}
    refuted = {test for test in tests if there.old_name(test) in failed}
    return replace(watched, taken=tuple(_refuted(each) if each.id in refuted else each for each in taken))


def _fewer_cases(watched: Watched, files: Sequence[str], known: Container[str]) -> Iterator[Missing]:
    """Tests that are parametrised over what is worked out, and have fewer cases than at the commit."""
    since = watched.context.since
    watched.context.progress(
        f"{counted(len(files), 'file')} of tests with cases that are worked out: as at {since[:12]}?"
    )
    try:
        with _at_base(watched) as there:
            before = there.counted_cases(files)
    except (UsageError, UnknownError, OSError):
        return
    now = Counter(each.partition("[")[0] for each in watched.account.record.items or ())
    for path in files:
        for test in watched.suite.files[path].tests:
            name = f"{path}::{test.name}"
            if name not in known and 0 < now[name] < (count := before[there.old_name(name)]):
                why = f"runs in {counted(now[name], 'case')}, and {count} were collected at {since[:12]}"
                yield Missing(path, test.line, test.name, why, path, loss=Loss.WEAKER)


def _refuted(weaker: Missing) -> Missing:
    return replace(weaker, why=f"{weaker.why}; as it was there, an assert of it fails now", hidden=True)


def with_emulated_before(watched: Watched, check: Check) -> Check:
    """The check on tests with CUDA emulated, and whether all that failed of them failed so before the change."""
    failed = [one for one in watched.emulated.tests if one.standing == "failed"]
    if check.id != EMULATED or check.status is not Status.FAIL or not watched.context.since or not failed:
        return check
    since = watched.context.since
    watched.context.progress(f"{counted(len(failed), 'test')} failed with CUDA emulated: so at {since[:12]}?")
    try:
        with _at_base(watched) as there:
            then = there.outcomes([one.id for one in failed], emulated=True)
            stood = all(
                then[one.id].outcome in ("failed", "error")
                and then[one.id].kind == one.reason.removeprefix(UNDER_EMULATION).partition(":")[0]
                and there.left_alone(one.id)
                for one in failed
            )
    except (UsageError, UnknownError, OSError) as error:
        problem = error.problem if isinstance(error, UsageError) else str(error)
        return check.model_copy(update={"actual": f"{check.actual}; whether so before is not known: {problem}"})
    if not stood:
        return check
    text = f"what failed was red before, at {since[:12]}, and this change does not touch it"
    return check.model_copy(update={"inherited": text})


@contextmanager
def _at_base(watched: Watched) -> Iterator[_There]:
    root, since = watched.context.subject.root, watched.context.since
    with tree_of(root, since, with_ignored_code=True) as tree:
        yield _There(watched, tree, {new: old for old, new in git.renames(root, since).items()})


def _asked(watched: Watched) -> dict[str, str]:
    """Id as pytest knows it -> id in the report, of every test (or file) that fails or is put aside."""
    account, scrubber = watched.account, watched.scrubber
    wanted = {one.test.id for one in account.judged if one.test.outcome in (*RED, *ASIDE)}
    shown = {test: scrubber.identity(test) for test in account.record.items or {}}
    shown |= {path: path for told in account.record.not_collected if (path := scrubber.path(told.id))}
    return {test: name for test, name in shown.items() if name in wanted}


def _compared(one: Judged, then: Then, left_alone: bool) -> Judged:
    now = one.test.outcome
    if now in ASIDE:
        stood = then.outcome in ASIDE
    else:
        kind = one.test.reason.partition(":")[0]
        stood = now in ("failed", "error") and then.outcome in ("failed", "error") and then.kind == kind and left_alone
    return replace(one, test=one.test.model_copy(update={"before": then.outcome, "stood": stood}))


@dataclass(frozen=True)
class _There:
    """The tree of the commit, and how today's tests were called in it."""

    watched: Watched
    tree: Path
    old_paths: Mapping[str, str]

    def outcomes(self, tests: Sequence[str], *, emulated: bool = False) -> dict[str, Then]:
        """What became of each test. Raises UnknownError. What failed runs twice: chance excuses nothing."""
        name = "before-emulated" if emulated else "before"
        found = self.run(tests, name, emulated=emulated)
        red = [test for test in tests if found[test].outcome in RED]
        if red and self.watched.context.settings.execution.retry:
            again = self.run(red, f"{name}-again", emulated=emulated)
            found |= {test: Then("flaky") for test in red if again[test].outcome not in RED}
        return found

    def run(self, tests: Sequence[str], name: str, *, emulated: bool = False) -> dict[str, Then]:
        """What became of each test in one run, whose folder gets that name. Raises UnknownError."""
        found = self.cases(tests, name, emulated=emulated)
        scrubber = Scrubber(self.tree, self.watched.folder)
        return {test: _outcome(scrubber.identity(self.old_name(test)), found) for test in tests}

    def cases(
        self, tests: Sequence[str], name: str, tree: Path | None = None, *, emulated: bool = False
    ) -> dict[str, Then]:
        """What became of each case of tests, by the ids that they had then; in another tree, where one is given."""
        tree = tree or self.tree
        old = [self.old_name(test) for test in tests]
        there = [path for path in dict.fromkeys(each.partition("::")[0] for each in old) if (tree / path).is_file()]
        if not there:
            return {}
        session = self._session(there, name, tree, only=tuple(old), emulated=emulated)
        account, ran = account_of(session, Scrubber(tree, self.watched.folder / name))
        if account.record.strangers:
            loaded = self.watched.scrubber.path(account.record.strangers[0])
            raise UnknownError(f"the tests there import {loaded} of this tree: the project is installed from it")
        if account.doubtful or account.record.status is None or account.record.items is None:
            raise UnknownError(f"the run there cannot be believed: {ran.actual}")
        return {one.test.id: Then(one.test.outcome, one.test.reason) for one in account.judged}

    def _session(
        self,
        files: Sequence[str],
        name: str,
        tree: Path,
        options: Sequence[str] = (),
        *,
        only: Sequence[str] = (),
        emulated: bool = False,
    ) -> Session:
        """pytest on some files of a tree, in a folder of that name."""
        context, folder = self.watched.context, self.watched.folder / name
        settings = context.settings.execution
        folder.mkdir()
        return run_pytest(
            context.subject.copied(tree),
            (*read_config(self.tree).kept, "--continue-on-collection-errors", *options, *files),
            folder=folder,
            bounds=bounds_of(settings),
            options=SessionOptions(
                only=only,
                instruments=[(EMULATE, {"capability": settings.capability})] if emulated else [],
                python_path=self._module_path(tree),
                apart=context.subject.root.resolve() if tree == self.tree else None,
            ),
        )

    def counted_cases(self, files: Sequence[str]) -> Counter[str]:
        """How many cases each test of some files had, by its id then. Nothing is run. Raises UnknownError."""
        record = self._session([self.old_name(path) for path in files], "cases", self.tree, ("--collect-only",)).record
        if record.items is None or record.strangers:
            raise UnknownError("what was collected there is not known")
        return Counter(each.partition("[")[0] for each in record.items)

    def of_today(self, tests: Sequence[str]) -> Path:
        """A copy of today's tree with the files of some tests, every conftest, and what they may read of their data as
        they were at the commit: what is no Python below their top folder, anything below one of tests."""
        folder = self.watched.folder / "of-today"
        copy = copy_project(self.watched.context.subject.root, folder, apart=folder)
        for file in copy.rglob("conftest.py"):
            file.unlink()
        own = [self.old_name(test).partition("::")[0] for test in tests]
        before = {self.tree / path for path in own}
        tops = {path.partition("/")[0] for path in own if "/" in path}
        changed = git.changed(self.watched.context.subject.root, self.watched.context.since)
        for path in changed:
            top = path.partition("/")[0]
            if top in tops and (top in TEST_FOLDERS or not path.endswith(".py")) and (self.tree / path).is_file():
                before.add(self.tree / path)
        for file in sorted(before.union(self.tree.rglob("conftest.py"))):
            there = copy / file.relative_to(self.tree)
            there.parent.mkdir(parents=True, exist_ok=True)
            copy_or_link(file, there)
        return copy

    def _module_path(self, tree: Path) -> list[Path]:
        """Folders of a tree that stand for those below today's root on the interpreter's module path, and `src`."""
        subject = self.watched.context.subject
        question = ["-c", "import sys; print(*sys.path, sep='\\n')"]
        asked = subject.run(question, seconds=PATH_SECONDS, start=StartOptions(safe_path=True))
        here = [Path(line) for line in asked.stdout_tail.splitlines() if line.startswith(f"{subject.root}/")]
        inside = [path.relative_to(subject.root) for path in here if "site-packages" not in path.parts]
        return [tree / path for path in (Path("src"), *inside) if (tree / path).is_dir()]

    def old_name(self, test: str) -> str:
        """The id that a test had at the commit, if its file was only renamed."""
        path, colons, rest = test.partition("::")
        return f"{self.old_paths.get(path, path)}{colons}{rest}"

    def left_alone(self, test: str) -> bool:
        """Whether the text of the test's own function is the same, but for comments and layout."""
        path, _, rest = test.partition("::")
        names = rest.partition("[")[0].split("::") if rest else []
        old = self.tree / self.old_name(test).partition("::")[0]
        now = self.watched.context.subject.root / path
        try:
            texts = [read_regular(file, MAX_SOURCE_BYTES) for file in (old, now)]
        except OSError:
            return False
        try:
            before, after = (_definition(ast.parse(text), names) for text in texts)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return texts[0] == texts[1]
        if before is None or after is None:
            return texts[0] == texts[1]
        return ast.dump(before) == ast.dump(after)


def _outcome(test: str, found: Mapping[str, Then]) -> Then:
    """Of a test, or of its file as a whole. That its file could not be imported then says nothing about the test."""
    if test in found:
        return found[test]
    if any(case.startswith(f"{test}[") and then.outcome == "passed" for case, then in found.items()):
        return Then("passed")  # asked for without its parameters
    whole = found.get(test.partition("::")[0])
    if whole is None:
        below = [then for case, then in found.items() if "::" not in test and case.startswith(f"{test}::")]
        return next((then for then in below if then.outcome == "passed"), below[0] if below else Then(ABSENT))
    if whole.outcome in ASIDE:
        return whole
    raise UnknownError(f"{test.partition('::')[0]} could not be imported there: {whole.reason}")


def _definition(tree: ast.AST, names: Iterable[str]) -> ast.AST | None:
    """The function or class of that qualified name; the whole module where there is no name."""
    found: ast.AST | None = tree
    for name in names:
        body: Iterable[ast.stmt] = getattr(found, "body", ())
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = next((each for each in body if isinstance(each, kinds) and each.name == name), None)
    return found

"""Tests that stand in the source and that the run did not have, and what took them away.

What is found is *hidden* where the source shows that the project's own settings or code took it away on every machine.
It is only *missing* where that depends on the machine or on an option (a package that is not installed, `--runslow`),
or where nothing shows why: that is listed, and does not block.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path, PurePosixPath

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.execution.collected_tests import DEFAULTS, PytestConfig, is_test
from verifygate.execution.outcomes import Judged
from verifygate.execution.stream import NotCollected, Record
from verifygate.execution.tests_in_source import SourceTest, SourceTests, read_tests
from verifygate.sources.discovery import walk

SURROUNDINGS = frozenset(
    "getoption getvalue option environ getenv find_spec importorskip is_available device_count version_info platform "  # noqa: SIM905
    "version __version__ which exists is_file is_dir ImportError ModuleNotFoundError import_module system".split()
)
"""Names by which code asks about the machine it runs on, or about what it was started with."""
COLLECTING = ("pytest_ignore_collect", "pytest_collect_file", "pytest_collect_directory", "pytest_pycollect_makemodule",
              "collect_ignore", "collect_ignore_glob")  # fmt: skip
CHOOSING = ("pytest_pycollect_makeitem", "pytest_collection_modifyitems", "pytest_itemcollected",
            "pytest_make_collect_report", "pytest_generate_tests")  # fmt: skip
SKIPPING = ("pytest_collection_modifyitems", "pytest_itemcollected", "pytest_runtest_setup", "pytest_runtest_call",
            "pytest_runtest_protocol", "pytest_runtest_makereport", "pytest_pyfunc_call")  # fmt: skip
EMPTY = "empty parameter set"
TEST_FOLDERS = ("tests", "test")


class Loss(StrEnum):
    """What became of a test, in the word that a report has for it."""

    NOT_RUN = "hidden"
    GONE = "taken away"
    WEAKER = "made weaker"


@dataclass(frozen=True)
class Missing:
    """One test, or all tests of a file, that the run did not have, or had with less in it."""

    path: str
    line: int
    name: str
    """The test's id behind its file; empty for all of the file."""
    why: str
    by: str = ""
    """The file that takes it away."""
    hidden: bool = False
    """Whether it is so on every machine, by the project's own doing."""
    ran: bool = False
    """Whether it ran before the change that is judged, and passed."""
    loss: Loss = Loss.NOT_RUN

    @property
    def id(self) -> str:
        return f"{self.path}::{self.name}" if self.name else self.path


@dataclass(frozen=True)
class Suite:
    """What the source of a project holds of tests, and how they were asked for."""

    root: Path
    config: PytestConfig
    chosen: Sequence[str]
    """Paths that pytest was given."""
    by_policy: bool = False
    """Whether the gate's own settings chose them: then what they leave out is chosen, too."""
    settled: bool = False
    """Whether the configuration is that of the base of a change."""

    @cached_property
    def files(self) -> Mapping[str, SourceTests]:
        """Every file of tests below the chosen paths and the root's folder of tests, with the tests in it."""
        folders = [self.root / name for name in self.chosen if (self.root / name).exists()]
        if not self.by_policy:
            folders += [self.root / name for name in TEST_FOLDERS if (self.root / name).is_dir()]
        found: dict[str, SourceTests] = {}
        for folder in folders:
            for file in [folder] if folder.is_file() else walk(folder):
                path = file.relative_to(self.root).as_posix()
                if path not in found and is_test(file) and (read := _read(file, path)) is not None and read.tests:
                    found[path] = read
        return found

    def missing(self, record: Record, judged: Sequence[Judged]) -> list[Missing]:
        """What did not come to run. Nothing of a run that never finished its collection: that is another fault."""
        if record.items is None or record.status is None:
            return []
        items = [*record.items, *(() if self.by_policy else record.deselected)]
        here = {each.partition("[")[0] for each in items if each not in record.deselected}
        gone = {each.partition("[")[0] for each in record.deselected} - here
        elsewhere = {each.rpartition("::")[2] for each in here}
        lost = tuple(each.id.rstrip("/") for each in record.not_collected)
        skipped = [each for each in record.not_collected if each.outcome == "skipped"]
        found: list[Missing] = []
        for path, file in sorted(self.files.items()):
            if _is_below(path, lost):
                found += [
                    _skipped_as_a_whole(file, each) for each in skipped if _is_below(path, (each.id.rstrip("/"),))
                ]
                continue
            absent = [test for test in file.tests if f"{path}::{test.name}" not in here]
            absent = [test for test in absent if not self._is_inherited(test, elsewhere)]
            absent = [test for test in absent if not _is_below(f"{path}::{test.name}", lost, "::")]
            if len(absent) == len(file.tests) and not any(f"{path}::{test.name}" in gone for test in absent):
                found.append(self._file_missing(file))
                continue
            for test in absent:
                told = f"{path}::{test.name}" in gone
                if not (told and self.by_policy):
                    found.append(self._test_missing(path, test, deselected=told))
        return [*found, *self._emptied(judged), *self._skipped(judged)]

    def tests_of(self, missing: Missing) -> tuple[str, ...]:
        """The ids of the tests that a missing one, or a missing file, stands for."""
        if missing.name:
            return (missing.id.partition("[")[0],)
        file = self.files.get(missing.path)
        return tuple(f"{missing.path}::{test.name}" for test in file.tests) if file is not None else ()

    def _is_inherited(self, test: SourceTest, elsewhere: set[str]) -> bool:
        """Whether it runs under the name of a class that inherits its own."""
        owner = test.name.rpartition("::")[0].rpartition("::")[2]
        return bool(owner) and test.function in elsewhere and any(owner in file.bases for file in self.files.values())

    def _file_missing(self, file: SourceTests) -> Missing:
        path, config, where = file.path, self.config, self.config.file
        name, folders = PurePosixPath(path).name, PurePosixPath(path).parts[:-1]
        line = file.tests[0].line

        def missing(why: str, by: str, hidden: bool) -> Missing:
            return Missing(path, line, "", f"{len(file.tests)} in the source, none collected: {why}", by, hidden)

        if not any(fnmatch(name, pattern) or fnmatch(path, pattern) for pattern in config.python_files):
            return missing(f"`python_files` of {where} does not match it", where, name.startswith("test_"))
        for depth, folder in enumerate(folders):
            if _matches(folder, config.norecursedirs) and not _matches(folder, DEFAULTS["norecursedirs"]):
                ignored = "/".join(folders[: depth + 1])
                why = f"`norecursedirs` of {where} leaves out {ignored}"
                return missing(why, where, not self._is_data(file, ignored))
        if not any(choice == "." or _is_below(path, (choice,)) for choice in self.chosen):
            beside = any(_is_below(choice, ("/".join(folders),)) for choice in self.chosen)  # not a suite of its own
            return missing(f"`testpaths` of {where} does not name it", where, hidden=bool(config.testpaths) and beside)
        if (test := file.tests[0]).switched_off == "__test__ = False":
            return missing(test.switched_off, path, not self._is_imported(path))
        for conftest, tree in self._code_around(path):
            if nodes := list(_hooks(tree, COLLECTING, path)):
                return missing(f"{_name_of(nodes[0])} in {conftest}", conftest, not _ask_surroundings(nodes, tree))
        return self._by_hook(file.path, file.tests[0], "") or missing(
            "nothing in the source says why", "", hidden=False
        )

    def _test_missing(self, path: str, test: SourceTest, *, deselected: bool) -> Missing:
        config, owner = self.config, test.name.partition("::")[0]
        if test.switched_off:
            inherited = any(owner in file.bases for file in self.files.values())
            return Missing(path, test.line, test.name, test.switched_off, path, test.sure and not inherited)
        if not deselected and not any(_begins(test.function, pattern) for pattern in config.python_functions):
            why = f"`python_functions` of {config.file} does not match it"
            return Missing(path, test.line, test.name, why, config.file, test.sure)
        in_class = owner != test.name and owner.startswith("Test")
        if not deselected and in_class and not any(_begins(owner, pattern) for pattern in config.python_classes):
            why = f"`python_classes` of {config.file} does not match it"
            return Missing(path, test.line, test.name, why, config.file, test.sure)
        word = "deselected" if deselected else "not collected"
        found = self._by_hook(path, test, test.name)
        return found or Missing(path, test.line, test.name, f"{word}; nothing in the source says why")

    def _by_hook(self, path: str, test: SourceTest, name: str) -> Missing | None:
        """What a hook of the project's took away."""
        for conftest, tree in self._code_around(path):
            if nodes := list(_hooks(tree, CHOOSING)):
                hidden = test.sure and not _ask_surroundings(nodes, tree)
                return Missing(path, test.line, name, f"{_name_of(nodes[0])} in {conftest}", conftest, hidden)
        return None

    def _emptied(self, judged: Sequence[Judged]) -> Iterator[Missing]:
        """Tests that have no case left to run."""
        for one in judged:
            if one.test.outcome in ("skipped", "xfailed") and EMPTY in one.test.reason:
                test = self._test_of(one.test.id)
                said = test.emptied if test is not None else ""
                why = f"parametrised over nothing: {said}" if said else "parametrised over what is empty here"
                yield Missing(
                    one.test.path, one.test.line, one.test.id.partition("::")[2], why, one.test.path, bool(said)
                )

    def _skipped(self, judged: Sequence[Judged]) -> Iterator[Missing]:
        """Tests that a hook puts aside although nothing in their own file says so."""
        for one in judged:
            path = one.test.path
            file = self.files.get(path)
            if one.test.outcome != "skipped" or EMPTY in one.test.reason or file is None or "skip" in file.text:
                continue
            if (test := self._test_of(one.test.id)) is None:
                continue
            for conftest, tree in self._code_around(path):
                nodes = [node for node in _hooks(tree, SKIPPING) if "skip" in ast.unparse(node)]
                if nodes and not _ask_surroundings(nodes, tree):
                    why = f"skipped by {_name_of(nodes[0])} in {conftest}: {one.test.reason}"
                    yield Missing(path, test.line, test.name, why, conftest, hidden=True)
                    break

    def _test_of(self, identity: str) -> SourceTest | None:
        path, _, name = identity.partition("[")[0].partition("::")
        file = self.files.get(path)
        return next((test for test in file.tests if test.name == name), None) if file is not None else None

    def _is_data(self, file: SourceTests, folder: str) -> bool:
        """Whether an ignored folder is no place of the project's own tests: it holds programs of its own, as samples
        and fixtures do, and this file takes nothing from outside of it."""
        others = [each for each in walk(self.root / folder) if not is_test(each) and each.name not in _NO_PROGRAM]
        return bool(others) and not any(self._is_module_outside(name, folder) for name in file.imports)

    def _is_module_outside(self, name: str, folder: str) -> bool:
        inside = {each.stem for each in walk(self.root / folder)}
        top = name.lstrip(".").partition(".")[0]
        here = [self.root, *(self.root / each for each in ("src", *self.config.pythonpath))]
        there = any((base / f"{top}.py").is_file() or (base / top / "__init__.py").is_file() for base in here)
        return bool(top) and there and top not in inside

    def _is_imported(self, path: str) -> bool:
        """Whether another file of tests imports this one: a helper, or tests to inherit."""
        stem = PurePosixPath(path).stem
        return any(
            stem in name.split(".") for other in self.files.values() if other.path != path for name in other.imports
        )

    def _code_around(self, path: str) -> Iterator[tuple[str, ast.Module]]:
        """The code of the project that pytest asks about a file: conftests from its folder up, the plugins that the
        configuration or a conftest names."""
        folders = [self.root.joinpath(*parts) for parts in _upwards(PurePosixPath(path).parts[:-1])]
        named = list(_plugins(self.config.kept))
        for file in (folder / "conftest.py" for folder in folders):
            if (tree := self._parsed(file)) is not None:
                named += _plugin_names(tree)
                yield file.relative_to(self.root).as_posix(), tree
        for name in named:
            for base in (self.root, *(self.root / each for each in self.config.pythonpath)):
                file = base.joinpath(*name.split(".")).with_suffix(".py")
                if (tree := self._parsed(file)) is not None:
                    yield file.relative_to(self.root).as_posix(), tree
                    break

    def _parsed(self, file: Path) -> ast.Module | None:
        try:
            return ast.parse(read_regular(file, MAX_SOURCE_BYTES, tree=self.root))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _skipped_as_a_whole(file: SourceTests, told: NotCollected) -> Missing:
    """The tests of a module, or of a folder, that ended its own import with a skip."""
    line = next((line for path, line in told.trace if path.endswith(file.path)), file.tests[0].line)
    absent = re.match(r"could not import '([^']+)'", told.message)
    reason = (
        f"needs {absent[1]}" if absent else told.message.removeprefix("unittest.case.SkipTest: ") or "no reason given"
    )
    why = f"{len(file.tests)} in the source, none collected: the module is skipped: {reason}"
    return Missing(file.path, line, "", why, file.path)


_NO_PROGRAM = ("conftest.py", "__init__.py")


def _read(file: Path, path: str) -> SourceTests | None:
    try:
        return read_tests(path, read_regular(file, MAX_SOURCE_BYTES))
    except OSError:
        return None


def _is_below(path: str, above: Iterable[str], end: str = "/") -> bool:
    return any(path == each or path.startswith((f"{each}{end}", f"{each}::")) for each in above)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern.rstrip("/").rpartition("/")[2]) for pattern in patterns)


def _begins(name: str, pattern: str) -> bool:
    return fnmatch(name, pattern) if any(sign in pattern for sign in "*?[") else name.startswith(pattern)


def _upwards(parts: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (parts[:depth] for depth in range(len(parts), -1, -1))


def _plugins(words: Sequence[str]) -> Iterator[str]:
    """`house` of `-p house` and `-phouse`."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "-p":
            yield following
        elif word.startswith("-p") and not word.startswith("--"):
            yield word[2:]


def _plugin_names(tree: ast.Module) -> Iterator[str]:
    """The texts in `pytest_plugins` of a conftest."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_name_of(target) == "pytest_plugins" for target in node.targets):
            for each in ast.walk(node.value):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def _hooks(tree: ast.Module, names: Sequence[str], path: str = "") -> Iterator[ast.stmt]:
    """The statements that define one of these hooks, or bind one of these names, or add to it.

    A list that names files concerns a path only where it names it, as far as it names any.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            yield node
        if not (isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr) and _name_of(node) in names):
            continue
        texts = [
            each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List) and not node.value.elts:
            continue
        if not path or not texts or any(_names(text, path) for text in texts):
            yield node


def hooks_of(data: bytes) -> list[str]:
    """What a file's hooks and lists say, but for comments and layout; nothing of one that is no Python."""
    try:
        return [ast.dump(node) for node in _hooks(ast.parse(data), (*COLLECTING, *CHOOSING, *SKIPPING))]
    except (SyntaxError, ValueError, RecursionError):
        return []


def _names(text: str, path: str) -> bool:
    parts = PurePosixPath(path).parts
    return any(fnmatch("/".join(parts[start:end]), text.rstrip("/"))
               for start in range(len(parts)) for end in range(start + 1, len(parts) + 1))  # fmt: skip


def _name_of(node: ast.AST) -> str:
    """The name that a statement defines, binds, or calls a method of; that of an expression."""
    match node:
        case ast.FunctionDef(name=name) | ast.Name(id=name):
            return name
        case ast.Assign(targets=[target, *_]) | ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _name_of(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value))):
            return _name_of(value)
    return ""


def _ask_surroundings(nodes: Sequence[ast.stmt], tree: ast.Module) -> bool:
    """Whether what they do depends on the machine, or on how pytest was started: by what stands in them, or by the
    condition or the `try` that they stand under."""
    around = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.If | ast.Try) and any(inner in nodes for inner in ast.walk(each) if inner is not each)
    ]
    parts: list[ast.AST] = [*nodes]
    for each in around:
        parts += [each.test] if isinstance(each, ast.If) else each.handlers
    bound = {_name_of(each): each for each in tree.body if isinstance(each, ast.Assign | ast.FunctionDef | ast.Try)}
    names = {name for part in parts for name in _words(part)}
    names |= {inner for name in names if name in bound for inner in _words(bound[name])}
    return bool(names & SURROUNDINGS)


def _words(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}

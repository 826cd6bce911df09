"""What a walk finds and no analysis reads: what `[project] exclude` names, and what git is told to ignore.

Both are patterns in the syntax of gitignore. Of git's lists only the `.gitignore` files of the tree count: a verdict
must not depend on the machine. A file that git keeps is read whatever they say, so no change hides what it commits; and
without a repository nobody says what git keeps, so everything is read.
"""

from __future__ import annotations

import os
import posixpath
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import filter as matching
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import read_regular, repository_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"
MAX_IGNORE_BYTES = 64 * 1024
MOST_STARS = 4
"""A pattern with more wildcards can take a regular expression minutes; one of a `.gitignore` then has no effect."""
MOST_NAMED = 100
"""Git is asked about that many paths by name, and about all that it keeps where there are more."""
EXCLUDED = "[project] exclude"
MODELLED = "[static] models"
"""What says of a library what it does is no code of the project that runs."""


class Patterns:
    """Patterns in the syntax of gitignore, relative to one folder: of those that match, the last decides."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        """`lines` are the patterns by number. Raises ValueError for one that is none."""
        from pathspec import GitIgnoreSpec  # loads as long as a small check takes, and few trees need it
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

        self._numbers = list(lines)
        # `a/**` is about what lies in `a`, and not about `a`, which pathspec takes for the same.
        texts = [f"{text}/*" if (text := each.rstrip(" ")).endswith("/**") else each for each in lines.values()]
        self._spec: GitIgnoreSpec = GitIgnoreSpec([GitIgnoreSpecPattern(text) for text in texts], backend="simple")

    def match(self, path: str) -> tuple[bool, int] | None:
        """Whether a path is to be left out, and by which pattern; None where no pattern matches.

        The path of a folder ends in a slash.
        """
        found = self._spec.check_file(path)
        if found.include is None or found.index is None:
            return None
        return found.include, self._numbers[found.index]


def checked(pattern: str) -> str:
    """The same pattern. Raises ValueError where it is none."""
    try:
        Patterns({0: pattern})
    except ValueError:
        raise ValueError(f"`{pattern}` is no pattern of a .gitignore") from None
    return pattern


class Exclusion:
    """What the configuration leaves out: its own patterns, and the `.gitignore` files that count."""

    def __init__(self, patterns: Iterable[str] = (), policy: Path | None = None, models: Iterable[str] = ()) -> None:
        """`policy` is a copy of the project's folder as its base has it: the `.gitignore` files there count. `models`
        are the project's models of frameworks, by their paths from its root."""
        self.models = frozenset(map(posixpath.normpath, models))
        self.patterns = tuple(patterns)
        self.policy = policy

    @classmethod
    def of(cls, exclude: Iterable[str] | Exclusion) -> Exclusion:
        """The same, where only the patterns are given."""
        return exclude if isinstance(exclude, Exclusion) else cls(exclude)

    def __bool__(self) -> bool:
        """Whether it says anything of paths from the project's root."""
        return bool(self.patterns or self.models)

    @cached_property
    def _compiled(self) -> Patterns:
        return Patterns(dict(enumerate(self.patterns)))

    def decision(self, path: str) -> tuple[bool, str] | None:
        """Whether the patterns leave out a path or take it in again, and the one that does; None for neither."""
        if not self.patterns:
            return None
        found = None
        for each in (*_folders(path), path):
            found = self._compiled.match(each)
            if found is not None and found[0]:
                break
        return (found[0], self.patterns[found[1]]) if found is not None else None

    def leaves_out(self, path: str) -> bool:
        """Whether the patterns leave out a path, relative to the project's root."""
        decision = self.decision(path)
        return path in self.models or (decision is not None and decision[0])

    def among(self, start: Path, paths: Mapping[str, str]) -> dict[str, str]:
        """Those of some paths that are left out, and why.

        `paths` are paths relative to the project's root, each with the one relative to `start`: the folder that was
        walked. One that was named outright has an empty one there, and git's patterns do not concern it.
        """
        out: dict[str, str] = {}
        asked: dict[str, str] = {}
        for path, inside in paths.items():
            decision = self.decision(path)
            if path in self.models:
                out[path] = f"{MODELLED}: {path}"
            elif decision is None:
                asked[path] = inside
            elif decision[0]:
                out[path] = f"{EXCLUDED}: {decision[1]}"
        walked = {each: path for path, each in asked.items() if each}
        ignored = _ignored(os.path.realpath(start), walked, self.policy) if walked else {}
        return out | {walked[each]: why for each, why in ignored.items()}


def _folders(path: str) -> Iterator[str]:
    """The folders above a path, from the top: `a/`, `a/b/`."""
    end = path.find("/", 1)
    while end > 0:
        yield path[: end + 1]
        end = path.find("/", end + 1)


def _ignored(start: str, paths: Collection[str], policy: Path | None) -> dict[str, str]:
    """Those of the paths below a folder that git ignores and does not keep, and the line that says so."""
    rules = _IgnoreFiles(start, paths, policy)
    found = {path: why for path in paths if (why := rules.why(path))}
    by_repository: dict[str, dict[str, str]] = {}
    for path in found:
        folder, _, name = path.rpartition("/")
        home = os.path.relpath(os.path.realpath(f"{start}/{folder}"), start)  # git keeps nothing behind a link
        repository = rules.repository("" if home == "." else home)
        by_repository.setdefault(repository, {})[path] = os.path.relpath(f"{start}/{home}/{name}", repository)
    for repository, some in by_repository.items():
        for path in _kept(repository, some):
            del found[path]
    return found


def _kept(repository: str, paths: Mapping[str, str]) -> Sequence[str]:
    """Those of the paths that git keeps, or may keep; each has the one that it has in the repository."""
    from verifygate.sources import git  # few trees ignore a source of theirs

    asked = sorted(set(paths.values()))
    try:
        if git.place_of(Path(repository)) is None:
            return list(paths)
        tracked = set(git.tracked(Path(repository), asked if len(asked) <= MOST_NAMED else ["."]))
    except UsageError:  # part of its data is missing
        return list(paths)
    return [path for path, inside in paths.items() if inside in tracked]


class _Rules(NamedTuple):
    """The patterns of one `.gitignore`."""

    folder: str
    shown: str
    patterns: Patterns
    texts: Mapping[int, str]

    def why(self, place: str) -> str | None:
        """What ignores a path; an empty text where a line takes it in again, None where none is about it."""
        match = self.patterns.match(place[len(self.folder) + 1 :])
        if match is None:
            return None
        ignored, number = match
        return f"{self.shown}:{number}: {self.texts[number]}" if ignored else ""


class _IgnoreFiles:
    """The `.gitignore` files that concern the paths below a folder, each read once."""

    def __init__(self, start: str, paths: Collection[str], policy: Path | None) -> None:
        self._start = start
        self._top = repository_of(start)
        self._names = frozenset(name for path in paths for name in path.split("/"))
        self._is_here: dict[str, bool] = {}
        self._policy = repository_of(os.path.realpath(policy)) if policy is not None else None
        self._known: dict[str, tuple[_Rules, ...]] = {}
        self._why: dict[str, str] = {"": ""}
        self._repositories: dict[str, str] = {"": self._top}

    def why(self, path: str) -> str:
        """By which line git ignores a file or a folder below the start; empty where none does."""
        if (known := self._why.get(path)) is not None:
            return known
        folder = path.rstrip("/").rpartition("/")[0]
        why = self.why(f"{folder}/" if folder else "") or self._said(path, self._rules(folder))
        if path.endswith("/"):
            self._why[path] = why
        return why

    def repository(self, folder: str) -> str:
        """The repository that a folder belongs to; it may have its own, as a submodule has."""
        if (known := self._repositories.get(folder)) is None:
            place = f"{self._start}/{folder}"
            own = os.path.lexists(f"{place}/.git")
            known = place if own else self.repository(folder.rpartition("/")[0])
            self._repositories[folder] = known
        return known

    def _said(self, path: str, rules: Sequence[_Rules]) -> str:
        place = f"{self._start}/{path}"
        return next((why for each in reversed(rules) if (why := each.why(place)) is not None), "")

    def _rules(self, folder: str) -> tuple[_Rules, ...]:
        """What concerns the content of a folder, the nearest last."""
        if (known := self._known.get(folder)) is None:
            place = f"{self._start}/{folder}" if folder else self._start
            if not folder:
                above = self._above()
            elif self.repository(folder) == place:
                above = ()
            else:
                above = self._rules(folder.rpartition("/")[0])
            own = self._read(place) if self.repository(folder) else ()
            known = self._known[folder] = (*above, *own)
        return known

    def _above(self) -> tuple[_Rules, ...]:
        """What the folders above say, unless they ignore the one that somebody named."""
        if not self._top or self._top == self._start:
            return ()
        way = self._start[len(self._top) :].strip("/").split("/")
        rules: tuple[_Rules, ...] = ()
        for depth in range(len(way)):
            place = "/".join((self._top, *way[:depth]))
            rules = (*rules, *self._read(place))
            below = f"{place}/{way[depth]}/"
            if next((why for each in reversed(rules) if (why := each.why(below)) is not None), ""):
                return ()
        return rules

    def _read(self, place: str) -> Iterator[_Rules]:
        inside = os.path.relpath(place, self._top or self._start)
        home = place if self._policy is None else os.path.normpath(f"{self._policy}/{inside}")
        file = f"{home}/{IGNORE_FILE}"
        if os.path.islink(file):  # noqa: PTH114 - asked of every folder; git follows none either
            return
        try:
            data = read_regular(file, MAX_IGNORE_BYTES)
        except OSError:  # none, or nothing that git would read
            return
        texts = {
            number: text
            for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), 1)
            if self._may_match(text := line.removesuffix(b"\r").decode("utf-8", "surrogateescape"))
        }
        if texts:
            yield _Rules(place, IGNORE_FILE if inside == "." else f"{inside}/{IGNORE_FILE}", *_usable(texts))

    def _may_match(self, text: str) -> bool:
        """Whether the last name in a pattern is that of something here: of a long list few patterns are left."""
        if text.startswith("#") or not text.strip() or len(re.findall(r"\*+", text)) > MOST_STARS:
            return False
        last = text.removeprefix("!").rstrip().rstrip("/*").rpartition("/")[2] or "*"
        if text.rstrip().rstrip("/").endswith("*"):
            last += "*"
        if "\\" in last or "[^" in last:
            return True
        if (known := self._is_here.get(last)) is None:  # the lists of a tree have many patterns in common
            is_name = re.search(r"[*?\[]", last) is None
            known = last in self._names if is_name else bool(matching(self._names, last))
            self._is_here[last] = known
        return known


def _usable(texts: Mapping[int, str]) -> tuple[Patterns, Mapping[int, str]]:
    """The patterns among some lines, and their texts: git passes over what is none."""
    try:
        return Patterns(texts), texts
    except ValueError:
        good = {}
        for number, text in texts.items():
            try:
                Patterns({number: text})
            except ValueError:
                continue
            good[number] = text
        return Patterns(good), good

"""Read commits, folders and files from a repository's store. The name of each is its digest, and is checked."""

from __future__ import annotations

import hashlib
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, NamedTuple

from verifygate.base.errors import UsageError
from verifygate.sources.git_folders import Repository
from verifygate.sources.git_process import SECONDS, ask, call

AT_ONCE = 1000
"""Names that git is given before its answers are read: they fit into a pipe."""
FOLDER, LINK, SUBMODULE = "40000", "120000", "160000"
"""Modes of what is no plain file."""


class Commit(NamedTuple):
    tree: str
    parents: tuple[str, ...]


class Entry(NamedTuple):
    """A file, a link or a submodule of a commit."""

    path: str
    mode: str
    name: str
    """Its object, by its digest; of a submodule the commit."""


class Objects:
    """The store of a repository, as long as `opened` lasts."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    def read(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The bytes of each object, in order; None where the store lacks it.

        Raises UsageError where git gives no answer, or one that is not what the name says.
        """
        waiting = iter(names)
        while some := list(islice(waiting, AT_ONCE)):
            yield from self._answers(some)

    def _answers(self, names: Sequence[str]) -> Iterator[bytes | None]:
        asked, answers = self._child.stdin, self._child.stdout
        if asked is None or answers is None:
            raise ValueError("the process has no pipes")
        timer = threading.Timer(SECONDS, self._child.kill)  # a store may hold a pipe that nobody writes to
        timer.start()
        try:
            asked.write("".join(f"{name}\n" for name in names).encode())
            asked.flush()
            found = [_answer(answers, name) for name in names]
        except (BrokenPipeError, ValueError):
            raise UsageError("git does not give out what its store holds", remedy=_REMEDY) from None
        finally:
            timer.cancel()
        yield from found

    def commit(self, name: str) -> Commit | None:
        """A commit by its full name; None where the store lacks it."""
        (data,) = self.read([name])
        if data is None:
            return None
        lines = data.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
        heads = [line.split() for line in lines if not line.startswith(" ")]  # a signature goes on behind a space
        of = {key: [each[1] for each in heads if len(each) > 1 and each[0] == key] for key in ("tree", "parent")}
        return Commit(of["tree"][0], tuple(of["parent"])) if of["tree"] else None

    def folder(self, tree: str, inside: str) -> str | None:
        """The digest of the folder at a path below a tree; None where that has no such folder."""
        for part in filter(None, inside.split("/")):
            below = {entry.path: entry.name for entry in self._below(tree) if entry.mode == FOLDER}
            if (tree := below.get(part, "")) == "":
                return None
        return tree

    def entries(self, tree: str, below: Sequence[str] = (".",)) -> Iterator[Entry]:
        """All that a tree holds at or below some paths, in folders of folders as well."""
        everything, level = "." in below, [("", tree)]
        while level:
            found = zip(level, self.read([name for _, name in level]), strict=True)
            level = []
            for (path, name), data in found:
                for entry in _parsed(_there(data, name), path, len(name) // 2):
                    if entry.mode == FOLDER:
                        if everything or any(_touches(entry.path, each) for each in below):
                            level.append((f"{entry.path}/", entry.name))
                    elif everything or any(_is_at_or_below(entry.path, each) for each in below):
                        yield entry

    def _below(self, tree: str) -> Iterator[Entry]:
        (data,) = self.read([tree])
        return _parsed(_there(data, tree), "", len(tree) // 2)


@contextmanager
def opened(repository: Repository) -> Iterator[Objects]:
    """The store of a repository. Raises UsageError where there is no git."""
    with call(repository, repository.top or repository.own, "cat-file", "--batch") as (command, environment):
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=dict(environment))
        except (OSError, ValueError, IndexError):
            raise UsageError("there is no git that runs", remedy="install git") from None
        with child:
            try:
                yield Objects(child)
            finally:
                child.kill()


def sizes(repository: Repository, names: Sequence[str]) -> dict[str, int]:
    """The size of each object that the store has."""
    given = "".join(f"{name}\n" for name in names).encode()
    listed = ask(repository, repository.top or repository.own, "cat-file", "--batch-check", given=given) or b""
    words = (line.split() for line in listed.decode().splitlines())
    return {found[0]: int(found[2]) for found in words if len(found) == 3}


def digest_of(kind: str, data: bytes, length: int) -> str:
    """The name that git has for an object, in as many digits: SHA-1 has 40 and SHA-256 64."""
    text = f"{kind} {len(data)}\0".encode()
    if length == 40:
        return hashlib.sha1(text + data, usedforsecurity=False).hexdigest()
    return hashlib.sha256(text + data).hexdigest()


def _is_at_or_below(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}/")


def _touches(folder: str, wanted: str) -> bool:
    return _is_at_or_below(folder, wanted) or wanted.startswith(f"{folder}/")


_REMEDY = "`git fsck` says what is broken; clone anew"
_LACKING = "this clone holds a part of the history only: fetch it whole, for example `git fetch --refetch --no-filter`"


def lacking(what: str) -> UsageError:
    return UsageError(f"git's store lacks {what}", remedy=_LACKING)


def _there(data: bytes | None, name: str) -> bytes:
    if data is None:
        raise lacking(f"the folder {name[:12]}")
    return data


def _answer(answers: IO[bytes], name: str) -> bytes | None:
    words = answers.readline().decode("ascii").split()
    if words[1:] == ["missing"]:
        return None
    if len(words) != 3:
        raise ValueError(name)
    data = answers.read(int(words[2]) + 1)[:-1]
    if len(data) != int(words[2]):
        raise ValueError(name)
    if digest_of(words[1], data, len(name)) != name:
        problem = f"git's store holds something else under the name {name[:12]} than was put there"
        raise UsageError(problem, remedy=_REMEDY)
    return data


def _parsed(data: bytes, above: str, digits: int) -> Iterator[Entry]:
    """The entries of one folder, by their paths. Raises UsageError for a name that would lead out of it."""
    position = 0
    for found in re.finditer(rb"([0-7]+) ([^\0]+)\0(.{%d})" % digits, data, re.DOTALL):
        mode, path, name = found.groups()
        if found.start() != position or path in (b".", b"..") or b"/" in path or path.lower() == b".git":
            break
        position = found.end()
        yield Entry(above + path.decode("utf-8", "surrogateescape"), mode.decode("ascii"), name.hex())
    if position != len(data):
        raise UsageError(f"git's store holds a folder that cannot be read: {above or '.'}", remedy=_REMEDY)

"""What lies in `.git` and decides what git does, or what it says: to protect it, and to see whether it changed.

All of it counts but for what git itself writes as people look around (the index, logs) and for objects, which are
checked where they are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.sources.git_folders import Repository, repository_of, submodule_at, text_of
from verifygate.sources.git_working_tree import listed, sha256_of

_WRITTEN_IN_PASSING = frozenset(
    {"COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD", "fsmonitor--daemon", "fsmonitor--daemon.ipc", "gc.log", "gc.pid"}
    | {"index", "lfs", "logs", "objects"}
)
_OF_ONE_TREE = frozenset({"commondir", "config.worktree", "gitdir"})
"""What decides in the folder of another working tree; where somebody else works is no affair of this one."""
_SHARED = frozenset(
    {"branches", "config", "hooks", "info", "modules", "packed-refs", "refs", "reftable", "remotes", "shallow"}
)
"""What a working tree uses of the folder that all share."""


def git_folders(root: Path) -> tuple[Path, ...]:
    """Every `.git` of a project, file or folder, and the folders that it leads to; of submodules too, outer ones first.

    A process that may not change them changes nothing of what git does here or says. What is no repository yet counts
    as well: a file more, and it is one.
    """
    found = [(each.top / ".git", each.own, each.common) for each in _repositories(root) if each.top]
    real = Path(os.path.realpath(root))
    near = next((top / ".git" for top in (real, *real.parents) if (top / ".git").exists()), None)
    return tuple(dict.fromkeys([*filter(None, [near]), *(path for paths in found for path in paths)]))


def git_state(root: Path) -> dict[str, str]:
    """What decides, by its path from the project's folder: digests of files, and the values of refs."""
    found: dict[str, str] = {}
    for each in _repositories(root):
        if each.top is None:
            continue
        found[_shown(each.top / ".git", root)] = f"{_state_of(each.top / '.git')} {each.own}"
        is_shared = each.own != each.common
        for path in _files(each.common, _SHARED if is_shared else frozenset()):
            found[_shown(path, root)] = _state_of(path)
        for path in _files(each.own) if is_shared else ():
            found[_shown(path, root)] = _state_of(path)
        refs = _refs(each.common)
        for name in refs.keys() - _elsewhere(each):
            found[f"{_shown(each.common, root)}/{name}"] = refs[name]
    return found


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not as it was: changed, gone or new."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _repositories(root: Path) -> Iterator[Repository]:
    """The repository that a folder is in, and its submodules, those of submodules too."""
    found = repository_of(root)
    waiting = [found] if found is not None else []
    while waiting:
        repository = waiting.pop(0)
        yield repository
        waiting += _submodules(repository)


def _submodules(repository: Repository) -> list[Repository]:
    if repository.top is None:
        return []
    try:
        kept = list(listed(repository, repository.top, "--stage"))
    except UsageError:  # an index that cannot be read names none
        return []
    paths = (line.partition("\t")[2] for line in kept if line.startswith("160000 "))
    found = (submodule_at(repository, repository.top / path) for path in paths)
    return [each for each in found if each is not None]


def _files(folder: Path, only: Set[str] = frozenset()) -> Iterator[Path]:
    """The files that decide, of one of git's own folders; below `modules` lie those of submodules."""
    try:
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return
    names = {each.name for each in entries}
    is_own = "HEAD" in names and ("objects" in names or "commondir" in names)
    if is_own:
        yield folder / "objects/info/alternates"
    for entry in entries:
        path = folder / entry.name
        if is_own and (entry.name in _WRITTEN_IN_PASSING or entry.name.startswith("sharedindex.")):
            continue
        if entry.name.endswith(".lock") or (only and entry.name not in only) or path.match("info/refs"):
            continue
        if is_own and entry.name in ("refs", "packed-refs"):
            continue
        if is_own and entry.name == "worktrees":
            yield from (place / name for place in sorted(path.iterdir()) for name in sorted(_OF_ONE_TREE))
        elif entry.is_dir(follow_symlinks=False):
            yield from _files(path)
        else:
            yield path


def _state_of(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}: {sha256_of(path)}"  # noqa: PTH115 - as text
    executable = "executable " if path.is_file() and os.access(path, os.X_OK) else ""
    return executable + (sha256_of(path) or ("there" if path.exists() else ""))


def _refs(common: Path) -> dict[str, str]:
    """The value of each ref, however it is kept: packing them changes nothing."""
    packed = (line.split() for line in (text_of(common / "packed-refs") or b"").decode("utf-8", "replace").splitlines())
    found = {words[1]: words[0] for words in packed if len(words) == 2 and not words[0].startswith("#")}
    for folder, _, names in os.walk(common / "refs"):
        for name in names:
            path = Path(folder, name)
            if not name.endswith(".lock"):
                value = text_of(path)
                found[path.relative_to(common).as_posix()] = (value or b"").decode("utf-8", "replace").strip()
    return found


def _elsewhere(repository: Repository) -> set[str]:
    """The branches that other working trees of the repository have checked out: somebody may commit there."""
    places = [repository.common, *(repository.common / "worktrees").glob("*")]
    branches = {_branch(place) for place in places if Path(os.path.realpath(place)) != repository.own}
    return branches - {_branch(repository.own)}


def _branch(own: Path) -> str:
    return (text_of(own / "HEAD") or b"").decode("utf-8", "replace").removeprefix("ref:").strip()


def _shown(path: Path, root: Path) -> str:
    return os.path.relpath(path, os.path.realpath(root)).replace(os.sep, "/")

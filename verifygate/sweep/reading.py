"""The files of a unit, and the digest that its answer is kept under.

Files come from the folder as they lie there, or from git's objects: nothing is checked out, and no file of the
repository is run. The configuration of a repository is not read: the one who sweeps says which rules count.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.check import answer_cache
from verifygate.config.tree_versions import TreeVersions, versions_of_tree
from verifygate.sources import git
from verifygate.sources.commit_tree import CommitTree
from verifygate.sources.configuration_file import MAX_FILES
from verifygate.sources.discovery import is_noted, is_walked, read_sources
from verifygate.sources.file import is_encodable
from verifygate.sources.repository import folder_in_repository
from verifygate.sources.tree import Sources
from verifygate.sweep.units import Unit


class Identity(NamedTuple):
    """What is known of a unit before it is analysed."""

    key: str
    """The digest of all that its answer depends on."""
    commit: str = ""
    sources: Sources | None = None
    """The files, where they had to be read for the key."""


def identify(unit: Unit) -> Identity:
    """The key of a unit. Of a commit git knows a digest, so no file is read. Raises UsageError for an unusable unit."""
    folder = _folder_of(unit)
    question = ["sweep", *sorted(unit.rules)]
    if not unit.commit:
        sources = read_sources(folder, (".",))
        _refuse_empty(sources, unit)
        versions = versions_of_tree(sources.paths, folder)
        return Identity(answer_cache.key_of([*question, repr(versions)], sources), sources=sources)
    commit = git.resolve(folder, unit.commit, unit.name)
    tree, names = _tree_of(folder, commit, unit)
    # The digest of a part of a repository says nothing of the versions that folders around it allow.
    around = [repr(_versions_at(folder, commit, names))] if folder_in_repository(folder) else []
    return Identity(answer_cache.key_of([*question, "tree", tree, *around], Sources(())), commit)


def read(unit: Unit, identity: Identity) -> tuple[Sources, TreeVersions]:
    """The files of a unit, and the versions that they allow of torch and of frameworks. Raises UsageError."""
    folder = _folder_of(unit)
    if identity.sources is not None:
        return identity.sources, versions_of_tree(identity.sources.paths, folder)
    _, names = _tree_of(folder, identity.commit, unit)
    sources = _sources_at(folder, identity.commit, names)
    _refuse_empty(sources, unit)
    return sources, _versions_at(folder, identity.commit, sources.paths)


def _versions_at(folder: Path, commit: str, paths: Iterable[str]) -> TreeVersions:
    return versions_of_tree(paths, folder, lambda top: CommitTree(top, commit))


def _folder_of(unit: Unit) -> Path:
    folder = Path(unit.path)
    if "://" in unit.name:
        raise UsageError("is an address, and a sweep reads local repositories", remedy="clone it, and list the clone")
    if not folder.is_dir():
        raise UsageError("is not a folder" if folder.exists() else "there is no such folder", remedy="correct the list")
    return folder


def _tree_of(folder: Path, commit: str, unit: Unit) -> tuple[str, tuple[str, ...]]:
    found = git.tree_at(folder, commit)
    if found is None:
        raise UsageError(f"git cannot list the folder at `{unit.commit}`", remedy="fetch that commit whole")
    return found


def _refuse_empty(sources: Sources, unit: Unit) -> None:
    if not sources.files and not sources.unreadable:
        raise UsageError("holds no Python file", remedy=f"name a folder with some instead of `{unit.name}`")


def _sources_at(folder: Path, commit: str, names: Iterable[str]) -> Sources:
    """What the folder would hold if the commit were checked out; what the store lacks is named as unreadable."""
    wanted = {name for name in names if name.endswith(".py") and is_walked(folder, name)}
    odd = [name for name in names if name.endswith(".py") and not is_encodable(name)]
    files = [file for file in git.files_at(folder, commit, in_part=True) if file.path in wanted]
    beside = [file for file in git.configuration_at(folder, commit, in_part=True) if is_noted(folder, file.path)]
    beside = sorted(beside, key=lambda file: file.path.count("/"))[:MAX_FILES]
    lost = sorted(wanted - {file.path for file in files})
    unreadable = [(name, "git's store lacks it") for name in lost]
    unreadable += [(name.encode("utf-8", "backslashreplace").decode(), "its name is not UTF-8") for name in odd]
    return Sources(files, unreadable, beside)

"""Ask git, where there is one: what revision the audited files belong to, and what they were at another."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.sources.configuration_file import MAX_BYTES, SUFFIXES, ConfigurationFile
from verifygate.sources.file import SourceFile, is_encodable
from verifygate.sources.git_folders import Repository, bare_repository, is_regular, repository_of
from verifygate.sources.git_objects import SUBMODULE, Objects, lacking, opened, sizes
from verifygate.sources.git_process import Verb, ask, configured, is_there
from verifygate.sources.git_working_tree import difference, listed, renamed


class Place(NamedTuple):
    """A folder of a repository."""

    repository: Repository
    folder: Path
    inside: str
    """The way down to it from the root of the working tree; empty at the root."""

    def said(self, verb: Verb, *arguments: str) -> str:
        """What git says, without spaces around it; empty where it refuses."""
        answer = ask(self.repository, self.folder, verb, *arguments)
        return (answer or b"").decode("utf-8", "surrogateescape").strip()

    def commit(self, revision: str) -> str:
        """The full name of a commit; empty where there is none by that name."""
        return self.said("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")

    def tree(self, objects: Objects, revision: str) -> str:
        """The digest of the folder as a commit has it; empty where it has none, or the store lacks the commit.

        Raises UsageError where the store lacks a folder on the way.
        """
        commit = revision if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", revision) else self.commit(revision)
        found = objects.commit(commit) if commit else None
        return (objects.folder(found.tree, self.inside) or "") if found else ""


def place_of(folder: Path) -> Place | None:
    """Where a folder is; None outside a repository, and where there is no git."""
    found = repository_of(folder)
    if found is None or found.top is None or not is_there(found):
        return None
    inside = Path(os.path.realpath(folder)).relative_to(found.top).as_posix()
    return Place(found, folder, "" if inside == "." else inside)


def describe(root: Path, paths: Sequence[str], code: Sequence[str] = ()) -> str:
    """The revision of `root`, with `+changes` where the files at `paths` differ, or Python files at or below `code`.

    `none` outside a repository.
    """
    place = place_of(root)
    commit = place.commit("HEAD") if place else ""
    if place is None or not commit:
        return "none"
    files, folders = ([_inside(place, path) for path in each] for each in (paths, code))
    try:
        differ = not all(files) or _differ(place, commit, files) or _differ(place, commit, folders, ".py")
    except UsageError:  # nobody can say that they are as they were
        differ = True
    return f"{commit}+changes" if differ else commit


def _inside(place: Place, path: str) -> str:
    """A path of the root's from the root of the working tree; empty where it leads out of that."""
    top = str(place.repository.top)
    found = os.path.relpath(os.path.join(top, place.inside, path), top)  # noqa: PTH118 - `path` may be absolute
    return "" if found.startswith("..") else found.replace(os.sep, "/")


def _differ(place: Place, commit: str, below: Sequence[str], suffix: str = "") -> bool:
    top = place.repository.top or place.folder
    return any(below) and bool(changed(top, commit, [each for each in below if each], suffix))


def resolve(root: Path, revision: str, option: str = "--since") -> str:
    """The full name of a commit. Raises UsageError, about `option`, where git knows none by that name."""
    commit = _required(root, option).commit(revision)
    if not commit:
        raise UsageError(
            f"git knows no revision `{revision}` here",
            where=option,
            remedy="name a commit, branch or tag that is there; a shallow clone may have to fetch it first",
        )
    return commit


def merge_base(root: Path, revision: str, option: str = "--since") -> str:
    """The commit where the work of this tree left `revision`: what came there later is no change of this tree.

    Raises UsageError, about `option`, where git knows no such revision, or no commit that both have.
    """
    commit = resolve(root, revision, option)
    found = _required(root, option).said("merge-base", "HEAD", commit)
    if not found:
        shallow = is_shallow(root)
        raise UsageError(
            f"this tree and `{revision}` have no commit in common" + (" in this shallow clone" if shallow else ""),
            where=option,
            remedy="fetch the whole history: `fetch-depth: 0`, or `git fetch --unshallow`"
            if shallow
            else "name a revision that this tree comes from",
        )
    return found.split()[0]


def common(root: Path, revision: str) -> str | None:
    """The commit where the work of this tree left `revision`; None where that is not there, or git is not."""
    place = place_of(root)
    commit = place.commit(revision) if place else ""
    found = place.said("merge-base", "HEAD", commit) if place and commit else ""
    return found.split()[0] if found else None


def is_shallow(root: Path) -> bool:
    place = place_of(root)
    return place is not None and is_regular(place.repository.common / "shallow")


def head(root: Path) -> tuple[str, tuple[str, ...]]:
    """The commit that is checked out and its parents, also those that a shallow clone lacks; empty without a commit."""
    place = place_of(root)
    commit = place.commit("HEAD") if place else ""
    if place is None or not commit:
        return "", ()
    with opened(place.repository) as objects:
        found = objects.commit(commit)
    return commit, found.parents if found else ()


def renames(folder: Path, commit: str) -> dict[str, str]:
    """Files of a commit below `folder` that have another path in the working tree: old path -> new path."""
    place = place_of(folder)
    if place is None:
        return {}
    with opened(place.repository) as objects:
        tree = place.tree(objects, commit)
        entries = list(objects.entries(tree)) if tree else []
    return renamed(place.repository, folder, entries)


def remote(root: Path) -> str:
    """The address that the repository of `root` was cloned from; empty where it was not, or there is none."""
    place = place_of(root)
    return configured(place.repository, "remote.origin.url").strip() if place else ""


def default_branch(folder: Path) -> str:
    """The branch that changes go to: what the remote says, else the one that is checked out, else `main`."""
    place = place_of(folder)
    if place is None:
        return "main"
    of_remote = place.said("symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    return of_remote or place.said("symbolic-ref", "--short", "HEAD") or "main"


def changed(folder: Path, commit: str, below: Sequence[str] = (".",), suffix: str = "") -> tuple[str, ...]:
    """Files at or below some paths of `folder` that are not as they were in a commit, gone or new ones among them."""
    place = place_of(folder)
    if place is None:
        return ()
    with opened(place.repository) as objects:
        tree = place.tree(objects, commit)
    return tuple(sorted(difference(place.repository, folder, tree, below, suffix).paths))


def top(folder: Path, option: str) -> Path:
    """The root of the repository that a folder is in. Raises UsageError, about `option`, where there is none."""
    return _required(folder, option).repository.top or folder


def _required(folder: Path, option: str) -> Place:
    place = place_of(folder)
    if place is None:
        raise UsageError(
            "there is no git repository here, or no git that runs",
            where=option,
            remedy="`git status` says more",
        )
    return place


def files_at(
    folder: Path,
    commit: str,
    suffixes: tuple[str, ...] = (".py",),
    largest: int | None = None,
    *,
    bare: bool = False,
    in_part: bool = False,
) -> Iterator[SourceFile]:
    """The files of a commit below `folder`, with paths relative to it, but for those of more than `largest` bytes.

    `bare`: the folder may be a repository without a working tree. Raises UsageError where the store lacks one of them;
    with `in_part`, that is left out.
    """
    place = place_of(folder)
    if bare and (found := bare_repository(folder)) is not None:
        place = Place(found, folder, "")
    if place is None:
        return
    with opened(place.repository) as objects:
        tree = place.tree(objects, commit)
        entries = objects.entries(tree) if tree else iter(())
        blobs = {
            each.path: each.name
            for each in entries
            if each.path.endswith(suffixes) and each.mode != SUBMODULE and is_encodable(each.path)
        }
        if largest is not None:
            known = sizes(place.repository, list(blobs.values()))
            blobs = {path: name for path, name in blobs.items() if known.get(name, 0) <= largest}
        for path, data in zip(sorted(blobs), objects.read(blobs[each] for each in sorted(blobs)), strict=True):
            if data is None and not in_part:
                raise lacking(path)
            file = _source(path, data) if data is not None else None
            if file is not None:
                yield file


def _source(path: str, data: bytes) -> SourceFile | None:
    if not path.endswith(".ipynb"):
        return SourceFile(path, data)
    from verifygate.sources.notebook import read_notebook  # for few projects

    read = read_notebook(path, data)
    return read if isinstance(read, SourceFile) else None


def tree_at(folder: Path, commit: str) -> tuple[str, tuple[str, ...]] | None:
    """The digest that git has for what a commit holds below `folder`, and the paths of its files, relative to it.

    None where git cannot say: the commit has no such folder, or the store lacks its tree.
    """
    place = place_of(folder)
    if place is None:
        return None
    try:
        with opened(place.repository) as objects:
            tree = place.tree(objects, commit)
            return (tree, tuple(sorted(each.path for each in objects.entries(tree)))) if tree else None
    except UsageError:
        return None


def configuration_at(folder: Path, commit: str, *, in_part: bool = False) -> Iterator[ConfigurationFile]:
    """The files of a commit that are no Python and may set a precision."""
    for file in files_at(folder, commit, SUFFIXES, MAX_BYTES, in_part=in_part):
        yield ConfigurationFile(file.path, data=file.data)


def file_at(folder: Path, commit: str, path: str) -> bytes | None:
    """The bytes of a file of a commit, by its path below `folder`; None where there is none, or no git."""
    place = place_of(folder)
    wanted = posixpath.normpath(path)
    if place is None:
        return None
    with opened(place.repository) as objects:
        tree = place.tree(objects, commit)
        found = [each for each in objects.entries(tree, (wanted,)) if each.path == wanted] if tree else []
        return next(objects.read([found[0].name])) if found and found[0].mode != SUBMODULE else None


def untracked(folder: Path) -> tuple[str, ...]:
    """Paths below `folder` that git does not keep, ignored ones too; a folder of nothing else stands for its files."""
    place = place_of(folder)
    found = listed(place.repository, folder, "--others", "--directory", "--no-empty-directory") if place else ()
    return tuple(sorted(name.rstrip("/") for name in found))


def ignored(folder: Path, paths: Sequence[str] = (".",)) -> tuple[str, ...]:
    """Files below `folder` that git is told to ignore and does not keep, one by one; of those at or below `paths`."""
    place, options = place_of(folder), ("--others", "--ignored", "--exclude-standard")
    return tuple(sorted(listed(place.repository, folder, *options, "--", *paths))) if place else ()


def tracked(folder: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Files at or below paths that git keeps, relative to the folder; none outside a repository."""
    place = place_of(folder)
    if place is None:
        return ()
    with opened(place.repository) as objects:
        tree = place.tree(objects, "HEAD")
        kept = {each.path for each in objects.entries(tree, paths)} if tree else set()
    return tuple(sorted({*kept, *listed(place.repository, folder, "--", *paths)}))

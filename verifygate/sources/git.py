"""Ask git, where there is one: what revision the audited files belong to, and what they were at another."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.sources.configuration_file import MAX_BYTES, SUFFIXES, ConfigurationFile
from verifygate.sources.file import SourceFile, is_encodable

SECONDS = 60.0


def describe(root: Path, paths: Sequence[str]) -> str:
    """The revision of `root`, with `+changes` where the files at `paths` differ; `none` outside a repository."""
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return "none"
    changed = _git(root, "status", "--porcelain", "--", *paths)
    text = commit.decode().strip()
    return f"{text}+changes" if changed is None or changed.strip() else text


def resolve(root: Path, revision: str, option: str = "--since") -> str:
    """The full name of a commit. Raises UsageError, about `option`, where git knows none by that name."""
    top(root, option)
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise UsageError(
            f"git knows no revision `{revision}` here",
            where=option,
            remedy="name a commit, branch or tag that is there; a shallow clone may have to fetch it first",
        )
    return commit.decode().strip()


def merge_base(root: Path, revision: str, option: str = "--since") -> str:
    """The commit where the work of this tree left `revision`: what came there later is no change of this tree.

    Raises UsageError, about `option`, where git knows no such revision, or no commit that both have.
    """
    commit = resolve(root, revision, option)
    found = _git(root, "merge-base", "HEAD", commit)
    if found is None:
        shallow = is_shallow(root)
        raise UsageError(
            f"this tree and `{revision}` have no commit in common" + (" in this shallow clone" if shallow else ""),
            where=option,
            remedy="fetch the whole history: `fetch-depth: 0`, or `git fetch --unshallow`"
            if shallow
            else "name a revision that this tree comes from",
        )
    return found.decode().split()[0]


def common(root: Path, revision: str) -> str | None:
    """The commit where the work of this tree left `revision`; None where that is not there, or git is not."""
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    found = _git(root, "merge-base", "HEAD", commit.decode().strip()) if commit else None
    return found.decode().split()[0] if found else None


def is_shallow(root: Path) -> bool:
    return (_git(root, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"


def head(root: Path) -> tuple[str, tuple[str, ...]]:
    """The commit that is checked out and its parents, also those that a shallow clone lacks; empty without a commit."""
    commit = (_git(root, "rev-parse", "--verify", "HEAD") or b"").decode().strip()
    text = (_git(root, "cat-file", "commit", "HEAD") or b"").decode("utf-8", "replace")
    heads = text.partition("\n\n")[0].splitlines()
    return commit, tuple(line.split()[1] for line in heads if line.startswith("parent "))


def renames(folder: Path, commit: str) -> dict[str, str]:
    """Files of a commit below `folder` that have another path in the working tree: old path -> new path."""
    listed = _git(folder, "diff", "-M", "--diff-filter=R", "--name-status", "-z", "--relative", commit, "--", ".")
    words = (listed or b"").decode("utf-8", "surrogateescape").split("\0")
    return {old: new for _, old, new in zip(words[0::3], words[1::3], words[2::3], strict=False)}


def remote(root: Path) -> str:
    """The address that the repository of `root` was cloned from; empty where it was not, or there is none."""
    return (_git(root, "remote", "get-url", "origin") or b"").decode("utf-8", "replace").strip()


def default_branch(folder: Path) -> str:
    """The branch that changes go to: what the remote says, else the one that is checked out, else `main`."""
    of_remote = _git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD") or b""
    here = _git(folder, "symbolic-ref", "--short", "HEAD") or b""
    return (of_remote.removeprefix(b"origin/") or here or b"main").decode("utf-8", "replace").strip()


def changed(folder: Path, commit: str) -> tuple[str, ...]:
    """Files below `folder` that are not as they were in a commit, gone or new ones among them."""
    differing = _git(folder, "diff", "--name-only", "--no-renames", "-z", "--relative", commit, "--", ".")
    fresh = _git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    listed = ((differing or b"") + (fresh or b"")).decode("utf-8", "surrogateescape")
    return tuple(sorted({name for name in listed.split("\0") if name}))


def top(folder: Path, option: str) -> Path:
    """The root of the repository that a folder is in. Raises UsageError, about `option`, where there is none."""
    found = _git(folder, "rev-parse", "--show-toplevel")
    if not found:
        raise UsageError(
            "there is no git repository here, or no git that runs or trusts it",
            where=option,
            remedy="`git status` says more",
        )
    return Path(found.decode("utf-8", "surrogateescape").rstrip("\n")).resolve()


def files_at(
    folder: Path, commit: str, suffixes: tuple[str, ...] = (".py",), largest: int | None = None
) -> Iterator[SourceFile]:
    """The files of a commit below `folder`, with paths relative to it; what the store lacks is left out.

    So is a file of more than `largest` bytes.
    """
    listed = _git(folder, "ls-tree", "-r", "-z", "-l", commit)
    blobs: dict[str, str] = {}
    for entry in (listed or b"").decode("utf-8", "surrogateescape").split("\0"):
        meta, _, path = entry.partition("\t")
        if path.endswith(suffixes) and is_encodable(path):
            *_, blob, listed_size = meta.split()
            if largest is None or (listed_size.isdigit() and int(listed_size) <= largest):
                blobs[path] = blob
    wanted = "".join(f"{blob}\n" for blob in blobs.values()).encode()
    data, position = _git(folder, "cat-file", "--batch", given=wanted) or b"", 0
    for path in blobs if data else ():
        end = data.index(b"\n", position)
        header = data[position:end].split()
        position = end + 1
        if header[-1] == b"missing":
            continue
        size = int(header[2])
        file = _source(path, data[position : position + size])
        if file is not None:
            yield file
        position += size + 1


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
    tree = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:./")
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit) if tree else None
    if tree is None or listed is None:
        return None
    names = listed.decode("utf-8", "surrogateescape").split("\0")
    return tree.decode().strip(), tuple(name for name in names if name)


def configuration_at(folder: Path, commit: str) -> Iterator[ConfigurationFile]:
    """The files of a commit that are no Python and may set a precision."""
    for file in files_at(folder, commit, SUFFIXES, MAX_BYTES):
        yield ConfigurationFile(file.path, data=file.data)


def file_at(folder: Path, commit: str, path: str) -> bytes | None:
    """The bytes of a file of a commit, by its path below `folder`; None where there is none, or no git."""
    return _git(folder, "cat-file", "blob", "--end-of-options", f"{commit}:./{path}")


def export(folder: Path, commit: str, target: Path) -> None:
    """Write what a commit holds below `folder` to `target`, a new folder. Raises UsageError where git cannot."""
    packed = _git(folder, "archive", "--format=tar", commit)
    if packed is None:
        raise UsageError(
            f"git cannot give out the files of `{commit}`", where="--against", remedy="fetch that revision whole"
        )
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(target, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise UsageError(f"the files of `{commit}` cannot be written out: {error}", where="--against") from None


def untracked(folder: Path) -> tuple[str, ...]:
    """Paths below `folder` that git does not keep, ignored ones too; a folder of nothing else stands for its files."""
    listed = _git(folder, "ls-files", "-z", "--others", "--directory", "--no-empty-directory")
    names = (listed or b"").decode("utf-8", "surrogateescape").split("\0")
    return tuple(sorted(name.rstrip("/") for name in names if name))


def ignored(folder: Path, paths: Sequence[str] = (".",)) -> tuple[str, ...]:
    """Files below `folder` that git is told to ignore and does not keep, one by one; of those at or below `paths`."""
    listed = _git(folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *paths)
    names = (listed or b"").decode("utf-8", "surrogateescape").split("\0")
    return tuple(sorted(name for name in names if name))


def tracked(folder: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Files at or below paths that git keeps, relative to the folder; none outside a repository."""
    listed = (_git(folder, "ls-files", "-z", "--", *paths) or b"").decode("utf-8", "surrogateescape")
    return tuple(sorted(name for name in listed.split("\0") if name))


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """What git prints, or None where there is no git, no repository, or it refuses."""
    command = ["git", "-C", str(folder), "-c", "core.quotepath=off", *arguments]
    try:
        ended = subprocess.run(command, input=given, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode == 0 else None

"""The files of a commit in a folder of their own, with what git does not keep: what ran then can run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import copy_or_link
from verifygate.sources import git
from verifygate.sources.discovery import SKIPPED_FOLDERS
from verifygate.sources.git_export import export


@contextmanager
def tree_of(root: Path, commit: str, *, with_ignored_code: bool = False) -> Iterator[Path]:
    """A folder with the files of a commit, and links to what git does not keep (data): code comes from the commit.

    `with_ignored_code`: code that git is told to ignore is there as well, as copies. It was generated, and belongs to
    the machine rather than to a change. Raises UsageError where git cannot give out the commit.
    """
    with temporary_folder("against") as folder:
        tree = Path(folder, "tree").resolve()
        tree.mkdir()
        export(root, commit, tree)
        ignored = set(git.ignored(root)) if with_ignored_code else set()
        for name in git.untracked(root):
            path = PurePosixPath(name)
            skipped = any(part.startswith(".") or part in SKIPPED_FOLDERS for part in path.parts)
            if skipped or (root / path / "pyvenv.cfg").exists() or (tree / path).exists():
                continue
            code = path.suffix == ".py"
            if code and name not in ignored:
                continue
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            if code:
                copy_or_link(root / path, tree / path)
            else:
                (tree / path).symlink_to(root / path)
        yield tree

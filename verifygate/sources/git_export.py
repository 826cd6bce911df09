"""Write what a commit holds to a folder: the bytes of its files as they are stored, through no filter."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.sources.git import place_of
from verifygate.sources.git_folders import Repository
from verifygate.sources.git_objects import LINK, SUBMODULE, lacking, opened
from verifygate.sources.git_working_tree import pointer_of, sha256_of


def export(folder: Path, commit: str, target: Path) -> None:
    """Write what a commit holds below `folder` to `target`, a new folder. Raises UsageError where git cannot.

    Content that git-lfs keeps is written where this clone has it. Links are made last, so no file goes through one.
    """
    place = place_of(folder)
    if place is None:
        raise UsageError(f"git cannot give out the files of `{commit}`", remedy="`git status` says more")
    try:
        with opened(place.repository) as objects:
            tree = place.tree(objects, commit)
            if not tree:
                raise UsageError(f"git cannot give out the files of `{commit}`", remedy="fetch that revision whole")
            entries = [each for each in objects.entries(tree) if each.mode != SUBMODULE]
            entries.sort(key=lambda each: each.mode == LINK)
            target.mkdir(parents=True, exist_ok=True)
            for each, data in zip(entries, objects.read(each.name for each in entries), strict=True):
                if data is None:
                    raise lacking(each.path)
                _write(target / each.path, each.mode, data, place.repository)
        for each in entries:
            if each.mode == LINK and not _is_inside(target / each.path, target):
                raise UsageError(f"`{each.path}` of `{commit}` is a link that leads out of the tree")
    except (OSError, ValueError) as error:
        raise UsageError(f"the files of `{commit}` cannot be written out: {error}") from None


def _write(file: Path, mode: str, data: bytes, repository: Repository) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        file.symlink_to(os.fsdecode(data))
        return
    digest = pointer_of(data)
    kept = repository.common / "lfs/objects" / digest[:2] / digest[2:4] / digest
    if digest and sha256_of(kept) == digest:
        shutil.copyfile(kept, file)
    else:
        file.write_bytes(data)
    file.chmod(0o755 if mode == "100755" else 0o644)


def _is_inside(path: Path, outer: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(outer))

"""Copies of a project, in which something else than the project's present code can run."""

from __future__ import annotations

import os
from pathlib import Path

from verifygate.base.regular_files import copy_or_link
from verifygate.sources.discovery import SKIPPED_FOLDERS


def copy_project(root: Path, target: Path, *, apart: Path) -> Path:
    """Copy the Python files below `root` to `target`, and link to everything else; returns `target`.

    Environments, hidden folders and `apart`, the folder that holds the copies, are left out.
    """
    for here, folders, files in os.walk(root):
        inside = [Path(here, each) for each in sorted(folders)]
        folders[:] = [each.name for each in inside if each != apart and not _left_out(each)]
        there = target / Path(here).relative_to(root)
        there.mkdir(parents=True, exist_ok=True)
        for file in files:
            if file.endswith(".py"):
                copy_or_link(Path(here, file), there / file)
            else:
                (there / file).symlink_to(Path(here, file))
    return target


def _left_out(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in SKIPPED_FOLDERS or (folder / "pyvenv.cfg").exists()

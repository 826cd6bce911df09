"""Ask git, where there is one, what revision the audited files belong to."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

SECONDS = 20.0


def describe(root: Path, paths: Sequence[str]) -> str:
    """The revision of `root`, with `+changes` where the files at `paths` differ; `none` outside a repository."""
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return "none"
    changed = _git(root, "status", "--porcelain", "--", *paths)
    return f"{commit.strip()}+changes" if changed is None or changed.strip() else commit.strip()


def _git(root: Path, *arguments: str) -> str | None:
    """What git prints, or None where there is no git, no repository, or it refuses."""
    command = ["git", "-C", str(root), "-c", "core.quotepath=off", *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.decode("utf-8", "replace") if ended.returncode == 0 else None

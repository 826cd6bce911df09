"""The audited files as they were before the tests, to compare with what the tests leave behind."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.sources.discovery import read_sources
from verifygate.sources.git_state import differing, git_state
from verifygate.stage import StageContext


@dataclass(frozen=True)
class Tree:
    """Digests of every audited file, the configuration and the specification, and of what decides what git does.

    Somebody may commit in another working tree of the repository while the tests run: its branch is not among them.
    Which revision the report speaks of is asked before any stage begins.
    """

    root: Path
    digests: Mapping[str, str]
    git: Mapping[str, str]

    def changed(self, now: Tree) -> list[str]:
        """Paths whose content is another one `now`, or that are gone."""
        return sorted(path for path, digest in self.digests.items() if now.digests.get(path) != digest)

    def added(self, now: Tree) -> list[str]:
        """Paths that are there `now` and were not before."""
        return sorted(set(now.digests) - set(self.digests))

    def changed_in_git(self, now: Tree) -> list[str]:
        """What decides what git does, and is not the same `now`."""
        return differing(self.git, now.git)


def tree_as_read(context: StageContext) -> Tree:
    """The audited files as the gate read them; the rest as it lies on the disk."""
    root = context.subject.root
    return Tree(root, _beside(context) | {file.path: file.digest for file in context.sources}, git_state(root))


def tree_on_disk(context: StageContext) -> Tree:
    """The same, all as it lies on the disk now."""
    settings, root = context.settings, context.subject.root
    try:
        files = read_sources(root, settings.sources, settings.exclusion)
    except UsageError:  # a folder that was to be audited is gone
        return Tree(root, _beside(context), git_state(root))
    return Tree(root, _beside(context) | {file.path: file.digest for file in files}, git_state(root))


def _beside(context: StageContext) -> dict[str, str]:
    root, settings = context.subject.root, context.settings
    named = [settings.config, settings.requirements.spec]
    return {path: digest for path in named if path and (digest := _digest(root / path))}


def _digest(path: Path) -> str:
    """The digest of a plain file; empty where there is none."""
    try:
        return hashlib.sha256(read_regular(path, MAX_SOURCE_BYTES)).hexdigest()
    except (OSError, ValueError):
        return ""

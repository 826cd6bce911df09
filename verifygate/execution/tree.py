"""The audited files as they were before the tests, to compare with what the tests leave behind."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verifygate.stage import StageContext


@dataclass(frozen=True)
class Tree:
    """Digests of every audited file, the configuration and the specification."""

    root: Path
    digests: Mapping[str, str]

    def changed(self) -> list[str]:
        """Paths whose content is another one now, or that are gone."""
        return sorted(path for path, digest in self.digests.items() if _digest(self.root / path) != digest)


def read_tree(context: StageContext) -> Tree:
    """The audited files as the gate read them; the configuration and the specification as they lie on the disk."""
    root = context.subject.root
    named = filter(None, (context.settings.config, context.settings.requirements.spec))
    digests = {path: _digest(root / path) for path in named} | {file.path: file.digest for file in context.sources}
    return Tree(root, digests)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "none"

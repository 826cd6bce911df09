"""Select rules by code, name or family, as `select`, `ignore` and `per_file_ignores` name them.

The static rules and what judges recorded runs read these three settings here and nowhere else: `AMP2` selects every
rule whose code begins with it, `amp201` and `Clip-Before-Unscale` one rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from types import MappingProxyType
from typing import NamedTuple

from verifygate.config.model_files import ModelFile
from verifygate.config.tree_versions import TreeVersions
from verifygate.config.version_pins import TORCH, of_frameworks


class RuleSelection(NamedTuple):
    """What the analysis reads of the static settings, without the models that read them from a file."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    torch_version: str = ""
    """The version of torch that is set for all files; empty where their own are to count."""
    framework_versions: Mapping[str, str] = MappingProxyType({})
    """Package of a training framework -> the version of it that is set for all files."""
    allowed: TreeVersions = TreeVersions()
    """What the files of the tree allow, where no version is set."""
    abstract_run: bool = False
    """Whether programs are also run on the abstract machine, and what it sees is reported."""
    models: tuple[ModelFile, ...] = ()
    """Models of frameworks that the project brings."""

    def allowing(self, versions: TreeVersions) -> RuleSelection:
        """The selection for a tree that allows these versions of packages."""
        return self._replace(allowed=versions)

    def torch_for(self, path: str) -> str:
        """The versions of torch that a file may run on, as `verifygate.config.version_pins` writes them."""
        return self.torch_version or self.allowed.of(path).get(TORCH, "")

    def frameworks_for(self, path: str) -> dict[str, str]:
        """Package of a training framework -> the versions of it that a file may run with, where any are named."""
        return {**of_frameworks(self.allowed.of(path)), **self.framework_versions}

    @property
    def versions(self) -> dict[str, str]:
        """Package -> the versions of it that all files may run with; only where they agree, and some are named."""
        folders = [self.allowed.by_folder[each] for each in sorted(self.allowed.by_folder)]
        of_tree = {
            name: found
            for name, found in (folders[0] if folders else {}).items()
            if all(each.get(name) == found for each in folders)
        }
        torch = {TORCH: self.torch_version} if self.torch_version else {}
        return {**of_tree, **self.framework_versions, **torch}

    @property
    def torch_versions(self) -> tuple[str, ...]:
        """The versions of torch of all files, each once; one is empty where nothing is said of some file's."""
        return (self.torch_version,) if self.torch_version else self.allowed.torch or ("",)


ALL_RULES = RuleSelection()
"""Every rule, for any version."""


def names_rule(word: str, code: str, name: str) -> bool:
    """Whether a word is the code or the name of a rule, or the beginning of its code; letter case does not matter."""
    return bool(word) and (code.startswith(word.upper()) or word.lower() == name)


def is_selected(code: str, name: str, select: Iterable[str], ignore: Iterable[str]) -> bool:
    """Whether `select` names a rule (an empty one selects all) and `ignore` does not."""
    selected = tuple(select)
    if selected and not any(names_rule(word, code, name) for word in selected):
        return False
    return not any(names_rule(word, code, name) for word in ignore)


def ignoring_pattern(path: str, code: str, name: str, per_file_ignores: Mapping[str, Iterable[str]]) -> str | None:
    """The first pattern of `per_file_ignores` that switches a rule off in a file; None where the rule is on."""
    for pattern, words in per_file_ignores.items():
        if any(names_rule(word, code, name) for word in words) and fnmatch(path, pattern):
            return pattern
    return None

"""Select rules by code, name or family, as `select`, `ignore` and `per_file_ignores` name them.

The static rules and what judges recorded runs read these three settings here and nowhere else: `AMP2` selects every
rule whose code begins with it, `amp201` and `Clip-Before-Unscale` one rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from types import MappingProxyType
from typing import NamedTuple

from verifygate.config.version_pins import TORCH, of_frameworks


class RuleSelection(NamedTuple):
    """What the analysis reads of the static settings, without the models that read them from a file."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    torch_version: str = ""
    """The versions that the project allows: one, or a range as `verifygate.config.version_pins` writes it."""
    framework_versions: Mapping[str, str] = MappingProxyType({})
    """Package of a training framework -> the same of it; only of those of which the project says something."""

    def allowing(self, versions: Mapping[str, str]) -> RuleSelection:
        """The selection for a tree that allows these versions of packages; a version that is set here stays."""
        return self._replace(
            torch_version=self.torch_version or versions.get(TORCH, ""),
            framework_versions={**of_frameworks(versions), **self.framework_versions},
        )


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

"""Versions of packages, as models ask for them: `verifygate.at_least("transformers", "4.45")`.

What the settings and the files of the tree pin decides it. A range with versions before and after is an option: the
program is followed both ways. Of a package that nothing pins, the newest is meant.
"""

from __future__ import annotations

from collections.abc import Mapping

from verifygate.config.version_pins import FRAMEWORKS, TORCH, VersionRange
from verifygate.static.machine.call import Call, Handler, NoLibrary
from verifygate.static.machine.values import FALSE, TRUE, Option, Value

AT_LEAST = "verifygate.at_least"
PACKAGES = (*FRAMEWORKS, TORCH)
"""The packages of which versions are read."""


class Versions(NoLibrary):
    """What is known of versions."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        """Package -> the versions of it, as `allowed_versions` writes them."""
        self._versions = versions

    def function(self, name: str) -> Handler | None:
        return self._at_least if name == AT_LEAST else None

    def _at_least(self, call: Call) -> Value:
        package, version = (call.constant(number) for number in (0, 1))
        found = VersionRange.of(self._versions.get(package, ""))
        if found == VersionRange() or found.begins_at(version):
            return TRUE
        return Option(f"{package} >= {version}") if found.reaches(version) else FALSE

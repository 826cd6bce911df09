"""The lowest torch version that a project's pyproject.toml asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.version import Version

_BOUNDS = (">=", "==", "~=", "===", ">")
_POETRY = r"[\^~>=]*\s*(\d+(?:\.\d+)*)"


def required_torch(root: Path) -> str:
    """The lowest torch version that the pyproject.toml in `root` asks for; empty where it, or the bound, is missing."""
    file = root / "pyproject.toml"
    if not file.is_file() or b"torch" not in (data := file.read_bytes()).lower():
        return ""
    return lowest_torch(data)


def lowest_torch(pyproject: bytes) -> str:
    """The lowest lower bound of all requirements of torch; empty where one has none, or none can be read."""
    import tomllib  # this and packaging load only for a file that speaks of torch: a check starts without them

    try:
        document = tomllib.loads(pyproject.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return ""  # it is the project's file, not the gate's: whoever builds from it complains
    bounds = [*_required(document), *_of_poetry(document)]
    if not bounds or None in bounds:
        return ""
    return str(min(bound for bound in bounds if bound is not None))


def _required(document: dict[str, Any]) -> Iterator[Version | None]:
    """The bound of each requirement: what the package itself needs, or, if it does not name torch, its extras."""
    project = _table(document.get("project"))
    extras = [
        *_table(project.get("optional-dependencies")).values(),
        *_table(document.get("dependency-groups")).values(),
    ]
    for group in ([project.get("dependencies")], extras):
        found = [
            _bound(requirement)
            for lines in group
            for line in (lines if isinstance(lines, list) else ())
            if (requirement := _torch(line)) is not None
        ]
        if found:
            yield from found
            return


def _torch(line: object) -> Requirement | None:
    if not isinstance(line, str) or not line.lstrip().lower().startswith("torch"):
        return None
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return None
    return requirement if requirement.name.lower() == "torch" else None


def _bound(requirement: Requirement) -> Version | None:
    from packaging.version import Version

    versions = [Version(each.version.removesuffix(".*")) for each in requirement.specifier if each.operator in _BOUNDS]
    return max(versions, default=None)


def _of_poetry(document: dict[str, Any]) -> Iterator[Version | None]:
    wanted = _table(_table(_table(document.get("tool")).get("poetry")).get("dependencies")).get("torch")
    if wanted is None:
        return
    text = wanted.get("version") if isinstance(wanted, dict) else wanted
    from packaging.version import Version

    found = re.match(_POETRY, text) if isinstance(text, str) else None
    yield Version(found[1]) if found else None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

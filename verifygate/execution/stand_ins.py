"""Modules of the audited tree that bear the names of what starts and watches a test run.

`instrument/bootstrap.py` loads Python's, pytest's and our own modules while nothing of the tree is on the module path,
so these stand for nothing: they are shown. A `torch` of the tree is another matter: the tests would train with it.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.execution.collected_tests import PytestConfig
from verifygate.model import Check, Evidence, EvidenceClass, Status

ID = "execution.start"
UNUSED = ("sitecustomize", "usercustomize", "pytest", "_pytest", "pluggy", "coverage")
"""Names that Python or pytest would import by itself, and does not import from the tree here."""


@dataclass(frozen=True)
class StandIn:
    path: str
    """Relative to the root."""
    says: str
    used: bool = False


def find_stand_ins(root: Path, config: PytestConfig, *, has_torch: bool) -> tuple[StandIn, ...]:
    """What lies in the folders that are on the module path of the tests. `has_torch`: the interpreter has one."""
    folders = [root, *(root / each for each in config.pythonpath if (root / each).is_dir())]
    return tuple(found for folder in dict.fromkeys(folders) for found in _in_folder(folder, root, has_torch=has_torch))


def plugins_of_tree(found: Sequence[StandIn], root: Path) -> tuple[str, ...]:
    """Options that keep pytest from loading plugins that a `.dist-info` of the tree registers."""
    names = [name for each in found if each.path.endswith("entry_points.txt") for name in _plugins(root / each.path)]
    return tuple(word for name in names for word in ("-p", f"no:{name}"))


def start_check(found: Sequence[StandIn]) -> Check:
    """`execution.start`: FAIL where the tests use such a module; PARTIAL where it lies there and is not used."""
    used = [each for each in found if each.used]
    status = Status.FAIL if used else Status.PARTIAL if found else Status.PASS
    return Check(
        id=ID,
        title="Nothing of the tree stands for Python, pytest or torch",
        status=status,
        required=bool(used) or not found,
        expected="what starts, runs and watches the tests comes from the environment or from the gate",
        actual="; ".join(f"{each.path}: {each.says}" for each in found) or "nothing does",
        evidence=tuple(
            Evidence(id=f"E-{ID}-{number}", kind=EvidenceClass.STATIC, summary=each.says, path=each.path)
            for number, each in enumerate(found, 1)
        ),
        remedy="rename these files, or take them out of the root" if found else "",
    )


def _in_folder(folder: Path, root: Path, *, has_torch: bool) -> Iterator[StandIn]:
    for name in (*UNUSED, "torch"):
        for file in (folder / f"{name}.py", folder / name / "__init__.py"):
            if not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            if name != "torch":
                yield StandIn(path, f"not loaded in place of the `{name}` of the environment")
            elif has_torch:
                yield StandIn(path, "the tests import it in place of the installed torch", used=True)
    for file in sorted(folder.glob("*.dist-info/entry_points.txt")):
        if _plugins(file):
            yield StandIn(file.relative_to(root).as_posix(), "a pytest plugin that the tree registers: not loaded")


def _plugins(file: Path) -> list[str]:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their letters
    try:
        parser.read_string(read_regular(file, MAX_SOURCE_BYTES).decode())
    except (OSError, ValueError, configparser.Error):
        return []
    return [name for name, _ in parser.items("pytest11")] if parser.has_section("pytest11") else []

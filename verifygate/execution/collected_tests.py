"""Find the project's tests, and which of its pytest options may stand while the gate watches."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.config.settings import ExecutionSettings
from verifygate.sources.discovery import walk

CONFIGURATIONS = (
    ("pytest.toml", "pytest"),
    (".pytest.toml", "pytest"),
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", "tool.pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
"""Where pytest looks, in its order, and the table it reads there."""

KEPT_OPTIONS = (
    "--import-mode",
    "--strict",
    "--strict-markers",
    "--strict-config",
    "--doctest-modules",
    "--doctest-glob",
    "--asyncio-mode",
    "--ds",
    "-p",
)
"""Options in the project's `addopts` that say how tests are found and imported, and select nothing. All others are
left out while the gate runs: `-k`, `--co`, `-x`, `-W ignore` and their like can turn a red suite green."""

PATHS = ("testpaths", "addopts", "pythonpath")
DEFAULTS = {
    "python_files": ("test_*.py", "*_test.py"),
    "python_classes": ("Test",),
    "python_functions": ("test",),
    "norecursedirs": ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}"),
}
"""Settings that say what pytest takes for a test, as they are where nobody sets them."""

_TAKE_VALUE = ("--import-mode", "--doctest-glob", "--asyncio-mode", "--ds", "-p")


@dataclass(frozen=True)
class PytestConfig:
    """What the project's own pytest configuration says about where tests are and how they run."""

    testpaths: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()
    pythonpath: tuple[str, ...] = ()
    """Folders, relative to the root, that pytest puts on the module path."""
    file: str = ""
    """Where it is configured; empty where it is not."""
    python_files: tuple[str, ...] = DEFAULTS["python_files"]
    python_classes: tuple[str, ...] = DEFAULTS["python_classes"]
    python_functions: tuple[str, ...] = DEFAULTS["python_functions"]
    norecursedirs: tuple[str, ...] = DEFAULTS["norecursedirs"]

    @property
    def kept(self) -> tuple[str, ...]:
        """The part of `addopts` that still holds."""
        kept: list[str] = []
        words = iter(self.addopts)
        for word in words:
            option, equals, _ = word.partition("=")
            if word.startswith("-p") and not word.startswith("--") and word != "-p":
                option, equals = "-p", "="  # `-pplugin`
            if option not in KEPT_OPTIONS:
                continue
            pair = [word]
            if option in _TAKE_VALUE and not equals:
                pair.append(next(words, ""))
            if not (option == "-p" and pair[-1].removeprefix("-p").startswith("no:")):
                kept += pair
        return tuple(kept)


def read_config(root: Path) -> PytestConfig:
    """Read the first file that configures pytest in `root`; a broken one is pytest's to complain about."""
    for name, table in CONFIGURATIONS:
        file = root / name
        if not file.is_file():
            continue
        try:
            values = _toml(file, table) if file.suffix == ".toml" else _ini(file, table)
        except (OSError, ValueError, configparser.Error):
            continue
        if values is not None or file.name in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"):
            values = values or {}
            told = {key: _words(values[key]) for key in (*PATHS, *DEFAULTS) if key in values}
            return PytestConfig(file=name, **told)
    return PytestConfig()


def as_policy(config: PytestConfig) -> dict[str, str]:
    """What the configuration says about which tests there are, in the words of a policy."""
    return {f"pytest: {key}": " ".join(getattr(config, key)) for key in (*PATHS, *DEFAULTS)}


def as_before(here: PytestConfig, there: PytestConfig) -> tuple[PytestConfig, tuple[str, ...]]:
    """What a change may not decide by itself: `here`, but with what counts as a test as it stands `there`; and the
    options by which pytest hears of it. Options of `addopts` that the change adds are left out, too."""
    ruled = replace(
        here, testpaths=there.testpaths, addopts=there.addopts, **{key: getattr(there, key) for key in DEFAULTS}
    )
    options: list[str] = []
    for key in DEFAULTS:
        if getattr(here, key) != getattr(there, key):
            options += ["-o", f"{key}={shlex.join(getattr(there, key))}"]
    return ruled, tuple(options)


def chosen_tests(settings: ExecutionSettings, root: Path, config: PytestConfig) -> tuple[str, ...]:
    """Arguments for pytest: what the settings name, else what is found; none where they say that there are no tests."""
    return (settings.pytest or find_tests(root, config)) if settings.tests else ()


def find_tests(root: Path, config: PytestConfig) -> tuple[str, ...]:
    """Paths to hand to pytest, relative to the root; none where there are no tests.

    The configuration's `testpaths`; else `tests` or `test` in the root; else every folder that holds a test file.
    """
    named = {path.relative_to(root).as_posix() for glob in config.testpaths for path in _expand(root, glob)}
    if named:
        return tuple(sorted(named))
    usual = [name for name in ("tests", "test") if (root / name).is_dir() and _holds_tests(root / name)]
    if usual:
        return tuple(usual)
    folders = {PurePosixPath(file.parent.relative_to(root).as_posix()) for file in walk(root) if is_test(file)}
    return tuple(sorted(str(folder) for folder in folders if not folders.intersection(folder.parents)))


def _expand(root: Path, glob: str) -> list[Path]:
    try:
        return [path for path in root.glob(glob) if path.exists()]
    except (NotImplementedError, ValueError):  # an absolute or an empty pattern
        return []


def _holds_tests(folder: Path) -> bool:
    return any(is_test(file) for file in walk(folder))


def is_test(file: Path) -> bool:
    """Whether pytest takes a file for one of tests where nobody tells it otherwise."""
    return file.suffix == ".py" and (file.name.startswith("test_") or file.stem.endswith("_test"))


def _toml(file: Path, table: str) -> dict[str, object] | None:
    data: object = tomllib.loads(_text(file))
    for key in table.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    if isinstance(data, dict) and isinstance(data.get("ini_options"), dict):
        data = data["ini_options"]  # the older spelling, [tool.pytest.ini_options]
    return data if isinstance(data, dict) else None


def _text(file: Path) -> str:
    return read_regular(file, MAX_SOURCE_BYTES, tree=file.parent).decode()


def _ini(file: Path, table: str) -> dict[str, object] | None:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(_text(file))
    return dict(parser[table]) if parser.has_section(table) else None


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if isinstance(value, Sequence):
        return tuple(str(word) for word in value)
    return ()

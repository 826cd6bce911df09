"""Programs that lie where no walk looks, and that a source of the tree runs all the same.

A walk leaves out folders by habit (hidden ones, `node_modules`, environments) and files that are not called Python. A
source that runs a text, puts a folder or an archive on the module path, or imports through a folder that is left out
makes programs of what lies there. The names that stand in such a source are followed down the tree, from its own
folder and from each one above it; nothing is run.

    sys.path.insert(0, os.path.join(HERE, ".engine"))  -> all Python in .engine
    exec((HERE / "data" / "loop.txt").read_text())     -> data/loop.txt
    from node_modules.loop import step                 -> node_modules/loop.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from pathlib import Path, PurePosixPath

from verifygate.base.records import record
from verifygate.base.regular_files import open_regular, read_regular
from verifygate.sources.file import AMP_WORDS, MAX_FILE_BYTES, MOST_SEARCHED_BYTES, SourceFile
from verifygate.sources.program_text import is_amp_program

RUNS = (b"exec(", b"run_path", b"importlib", b"sys.executable")
"""What runs the text of a file, whatever its name is; `importlib` makes loaders."""
OPENS = (b"sys.path", b"addsitedir", b"zipimport")
"""What lets Python import from a folder or an archive."""
SETTINGS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Where pytest may be told to put folders on the module path."""
IMPORTED = (".py", ".pyc")
ARCHIVES = (".zip", ".egg", ".whl", ".pyz")
OUTPUTS = frozenset({"build", "dist", "node_modules", "__pypackages__"})
"""Folders that a walk leaves out, and that a module's name may lead through."""
MOST_FILES = 2_000
"""Files of one folder or archive that are looked at."""
_STRING = rb"""(["'])([^"'\s*?<>|:;,(){}=]{1,200})\1"""
_IMPORTED = rb"(?m)^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(\w+))?"
_PYTHONPATH = rb"(?m)^\s*pythonpath\s*=(.*(?:\n[ \t]+.*)*)"
_WORD = rb"[^\s\"'\[\],]+"
_REASON = "is a program that {} names, and lies where none is read: move it, or name it in `[project] sources`"


@record
class Names:
    """The names of files and folders that stand in one file, and what it can make of them."""

    parts: frozenset[str]
    opens: bool
    """Whether Python below a folder of that name can be imported."""
    runs: bool
    """Whether a file of that name can be run whatever it is called."""


def named_programs(
    root: Path, files: Iterable[SourceFile], is_left_out: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """`(path, reason)` of each program that mentions AMP, that a file of the tree names, and that is not read.

    `is_left_out` says of a Python file's path whether the walk leaves it out. What git ignores did not come with the
    tree, and an exact copy of a file that is read is no other program.
    """
    known = {file.path: file for file in files}
    tree = _Tree(root, known, is_left_out)
    outputs = OUTPUTS & tree.names_in("") | {each.parent.name for each in root.glob("*/pyvenv.cfg")}
    naming = [(file.path, _names_of_source(file, outputs)) for file in known.values()]
    naming += [(name, _names_of_setting(root / name)) for name in sorted(tree.names_in("").intersection(SETTINGS))]
    found: dict[str, str] = {}
    for path, names in naming:
        for program in tree.programs(path, names) if names.parts else ():
            found.setdefault(program, path)
    if found:
        from verifygate.sources import git  # for few projects

        for ignored in git.ignored(root, tuple(found)):
            found.pop(ignored, None)
    return ((path, _REASON.format(naming)) for path, naming in found.items())


def _names_of_source(file: SourceFile, outputs: Iterable[str]) -> Names:
    data = file.data
    opens = any(word in data for word in OPENS)
    runs = not file.is_test and any(word in data for word in RUNS)  # tests run samples of all kinds
    parts = _parts(found[2] for found in re.finditer(_STRING, data)) if opens or runs else set()
    if any(name.encode() in data for name in outputs):
        for found in re.finditer(_IMPORTED, data):
            modules = _parts(b".".join(filter(None, found.groups())).split(b"."))
            if not modules.isdisjoint(outputs):
                parts |= modules | {f"{name}.py" for name in modules} | {"__init__.py"}
    return Names(parts=frozenset(parts), opens=opens, runs=runs)


def _names_of_setting(file: Path) -> Names:
    try:
        data = read_regular(file, MAX_FILE_BYTES)
    except OSError:
        data = b""
    if b"pythonpath" not in data:
        return Names(parts=frozenset(), opens=False, runs=False)
    words = (word for found in re.finditer(_PYTHONPATH, data) for word in re.findall(_WORD, found[1]))
    return Names(parts=frozenset(_parts(words)), opens=True, runs=False)


def _parts(paths: Iterable[bytes]) -> set[str]:
    texts = (path.decode("utf-8", "replace").replace("\\", "/") for path in paths)
    return {part for text in texts for part in text.split("/")} - {"", ".", ".."}


class _Tree:
    """What lies below a root, and what of it is read. A path is relative to the root, and the root is empty."""

    def __init__(self, root: Path, known: dict[str, SourceFile], is_left_out: Callable[[str], bool]) -> None:
        self._root = root
        self._known = known
        self._is_left_out = is_left_out
        self._names: dict[str, frozenset[str]] = {}

    def names_in(self, folder: str) -> frozenset[str]:
        """The names in a folder; none where it cannot be listed."""
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(self._root / folder))  # noqa: PTH208 - no paths are needed
            except (OSError, ValueError):
                self._names[folder] = frozenset()
        return self._names[folder]

    def programs(self, source: str, names: Names) -> Iterator[str]:
        """The programs that names lead to from the folder of a source, and from each one above it."""
        if source.startswith(("/", "../")):
            return
        seen: set[str] = set()
        above = ["" if str(folder) == "." else str(folder) for folder in PurePosixPath(source).parents]
        while above:
            folder = above.pop()
            for name in sorted(self.names_in(folder) & names.parts):
                path = f"{folder}/{name}" if folder else name
                if path in seen or name == ".git":
                    continue
                seen.add(path)
                if (self._root / path).is_dir():
                    above.append(path)
                    if names.opens and self._is_left_out(f"{path}/module.py"):
                        yield from (each for each in self._python_below(path) if self._is_unread(each))
                elif self._can_be_run(path, names) and self._is_unread(path):
                    yield path

    def _can_be_run(self, path: str, names: Names) -> bool:
        if path.endswith(IMPORTED):
            return self._is_left_out(path)
        return names.opens if path.endswith(ARCHIVES) else names.runs

    def _python_below(self, folder: str) -> Iterator[str]:
        seen = 0
        for place, folders, files in os.walk(self._root / folder):
            folders.sort()
            seen += len(files)
            if seen > MOST_FILES:
                return
            within = Path(place).relative_to(self._root).as_posix()
            yield from (f"{within}/{name}" for name in sorted(files) if name.endswith(IMPORTED))

    def _is_unread(self, path: str) -> bool:
        """Whether it is a program that mentions AMP, and neither read, nor a copy of what is, nor installed."""
        folders = [str(folder) for folder in PurePosixPath(path).parents]
        is_installed = "site-packages" in path and any((self._root / each / "pyvenv.cfg").exists() for each in folders)
        is_file = os.path.isfile(self._root / path)  # noqa: PTH113 - no error where it may not be looked at
        if path in self._known or is_installed or not is_file:  # a pipe and a device have no end
            return False
        if path.endswith(ARCHIVES):
            return _archive_mentions_amp(self._root / path)
        try:
            with open_regular(self._root / path, tree=self._root) as opened:
                data = opened.read(MAX_FILE_BYTES)
        except OSError:
            return False
        if path.endswith(".pyc"):
            return AMP_WORDS.found_in(data) and "__pycache__" not in path
        return is_amp_program(data) and not any(file.data == data for file in self._known.values())


def _archive_mentions_amp(file: Path) -> bool:
    import zipfile  # for few projects

    try:
        with open_regular(file) as opened, zipfile.ZipFile(opened) as archive:
            held = [each for each in archive.infolist() if each.filename.endswith(".py")][:MOST_FILES]
            sizes = accumulate(each.file_size for each in held)
            looked_at = (each for each, size in zip(held, sizes, strict=True) if size <= MOST_SEARCHED_BYTES)
            return any(each.file_size <= MAX_FILE_BYTES and is_amp_program(archive.read(each)) for each in looked_at)
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        return False

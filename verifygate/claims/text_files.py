"""The source tree that the reports speak of: every text file of it, not only the folders a report chose to search."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import read_regular
from verifygate.sources.discovery import SKIPPED_FOLDERS
from verifygate.sources.file import MAX_FILE_BYTES

PROGRAM_SUFFIXES = frozenset(
    [
        ".py",
        ".pyi",
        ".pyx",
        ".js",
        ".jsx",
        ".ts",
        ".tsx",
        ".mjs",
        ".cjs",
        ".vue",
        ".svelte",
        ".go",
        ".rs",
        ".java",
        ".kt",
        ".kts",
        ".scala",
        ".swift",
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".h",
        ".hh",
        ".hpp",
        ".cu",
        ".cuh",
        ".cs",
        ".rb",
        ".php",
        ".pl",
        ".lua",
        ".r",
        ".jl",
        ".sh",
        ".bash",
        ".zsh",
        ".ps1",
        ".sql",
    ]
)
DATA_SUFFIXES = frozenset(
    [
        ".ipynb",
        ".yaml",
        ".yml",
        ".toml",
        ".ini",
        ".cfg",
        ".json",
        ".proto",
        ".tf",
        ".gradle",
        ".cmake",
        ".html",
        ".css",
        ".scss",
        ".md",
        ".txt",
        ".rst",
    ]
)
_COMMENT = re.compile(r"^\s*(?://|/?\*|#(?!include|define|if|endif|pragma)|--\s)")
MAX_FILES = 50_000


@dataclass(frozen=True)
class TreeFile:
    """One text file. `path` is POSIX, relative to the root."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def is_code(self) -> bool:
        return PurePosixPath(self.path).suffix.lower() in PROGRAM_SUFFIXES

    @property
    def is_test(self) -> bool:
        *folders, name = self.path.lower().split("/")
        named = re.search(r"^test_|_test\.|\.test\.|\.spec\.|^conftest\.py$", name)
        return bool(named) or bool({"test", "tests", "__tests__", "spec"} & set(folders))

    @cached_property
    def code_lines(self) -> list[str]:
        """The lines without comments and, in Python, without text literals; Python that cannot be read as it stands."""
        if not self.path.endswith((".py", ".pyi")):
            return ["" if _COMMENT.match(line) else line for line in self.lines]
        kept = [list(line) for line in self.lines]
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type in (tokenize.COMMENT, tokenize.STRING):
                    _blank(kept, token.start, token.end)
        except (tokenize.TokenError, SyntaxError, IndexError):
            return self.lines
        return ["".join(line) for line in kept]

    @cached_property
    def definitions(self) -> dict[str, list[tuple[int, int]]]:
        """Name -> first and last line of each function and class of that name; empty for what is not Python."""
        if not self.path.endswith(".py"):
            return {}
        try:
            module = ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
        found: dict[str, list[tuple[int, int]]] = {}
        for node in ast.walk(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                found.setdefault(node.name, []).append((first, node.end_lineno or node.lineno))
        return found


def _blank(kept: list[list[str]], start: tuple[int, int], end: tuple[int, int]) -> None:
    for row in range(start[0], end[0] + 1):
        line = kept[row - 1]
        first = start[1] if row == start[0] else 0
        last = end[1] if row == end[0] else len(line)
        line[first:last] = " " * (last - first)


@dataclass(frozen=True)
class Hit:
    path: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Tree:
    """The text files below a root, read once, in order of path."""

    def __init__(self, root: Path, files: Iterable[TreeFile], unread: Iterable[str] = ()) -> None:
        self.root = root
        self.files = tuple(sorted(files, key=lambda file: file.path))
        self.unread = tuple(sorted(unread))
        """Code files that could not be read as text."""
        self._by_name: dict[str, list[TreeFile]] = {}
        for file in self.files:
            self._by_name.setdefault(PurePosixPath(file.path).name, []).append(file)

    @property
    def code(self) -> list[TreeFile]:
        return [file for file in self.files if file.is_code]

    def named(self, path: str) -> list[TreeFile]:
        """The files that a report may mean by a path: those whose path ends with it."""
        wanted = PurePosixPath(re.sub(r"^(?:\./|/)+", "", path)).parts
        if not wanted:
            return []
        found = [f for f in self._by_name.get(wanted[-1], []) if PurePosixPath(f.path).parts[-len(wanted) :] == wanted]
        exact = [file for file in found if file.path == "/".join(wanted)]
        if found or len(wanted) == 1:
            return exact or found
        shorter = [
            f
            for f in self._by_name.get(wanted[-1], [])
            if wanted[-len(PurePosixPath(f.path).parts) :] == PurePosixPath(f.path).parts
        ]
        return [
            file for file in shorter if len(PurePosixPath(file.path).parts) > 1
        ]  # the report's paths start above the root

    def has_folder(self, path: str) -> bool:
        """Whether the folder of this path is one of the tree's."""
        folder = PurePosixPath(re.sub(r"^(?:\./|/)+", "", path)).parent
        return any(
            str(folder) == "." or f"/{file.path}".rpartition("/")[0].endswith(f"/{folder}") for file in self.files
        )

    def hidden(self, path: str) -> bool:
        """Whether the path exists among the files that the tree leaves out: build outputs, binaries, environments."""
        try:
            return (self.root / re.sub(r"^(?:\./|/)+", "", path)).exists()
        except OSError:  # longer than a file system takes
            return False

    def search(self, word: str, *, code_only: bool = False, tests: bool | None = None) -> Iterator[Hit]:
        """Every line of the programs that holds the word. `code_only`: not in comments, nor in Python's literals."""
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        for file in self.code:
            if (tests is not None and file.is_test is not tests) or word not in file.text:
                continue
            for number, line in enumerate(file.code_lines if code_only else file.lines, 1):
                if pattern.search(line):
                    yield Hit(file.path, number, line)


def read_tree(root: Path, shown: str, leave_out: Iterable[Path] = ()) -> Tree:
    """Read every text file below `root` but for hidden folders, environments, and the reports themselves.

    Raises UsageError where there is no such folder, or nothing to read in it.
    """
    if not root.is_dir():
        raise UsageError("no such folder", where=shown, remedy="--root is the source tree that the reports are about")
    skip = {path.resolve() for path in leave_out}
    files: list[TreeFile] = []
    unread: list[str] = []
    for here, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not _skipped(Path(here), name))
        for name in sorted(names):
            path = Path(here, name)
            relative = path.relative_to(root).as_posix()
            if path.is_symlink() or not path.is_file() or path.resolve() in skip:
                continue
            if len(files) + len(unread) >= MAX_FILES:
                raise UsageError(
                    f"more than {MAX_FILES} files", where=shown, remedy="name the project's own folder with --root"
                )
            text = _text(path, root)
            if text is not None:
                files.append(TreeFile(relative, text))
            elif PurePosixPath(name).suffix.lower() in PROGRAM_SUFFIXES:
                unread.append(relative)
    if not any(file.is_code for file in files):
        raise UsageError(
            "holds no source file", where=shown, remedy="--root is the source tree that the reports are about"
        )
    return Tree(root, files, unread)


def _skipped(parent: Path, name: str) -> bool:
    return (
        name in SKIPPED_FOLDERS
        or (name.startswith(".") and name != ".github")
        or (parent / name / "pyvenv.cfg").exists()
    )


def _text(path: Path, root: Path) -> str | None:
    try:
        text = read_regular(path, MAX_FILE_BYTES, tree=root).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text.replace("\r\n", "\n").replace("\r", "\n")

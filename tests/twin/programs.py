"""The programs of the twin: whatever of the tests' programs can be started here."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent.parent
ENTRIES = ("train.py", "main.py", "run.py")
_FILES = (
    "static/cases/*/*",
    "static/programs/right/*",
    "found_in_the_wild/*",
    "projects/*",
    "execution/cases/*",
    "fix/cases/*",
    "golden/cases/found/*/*",
    "golden/cases/found/*/*/*",
    "golden/cases/found3/*/*",
    "golden/cases/found3/*/*/*",
)
_SUFFIXES = (".py", ".yaml", ".yml", ".json", ".toml", ".ini")
_SAYS_NOTHING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class TwinProgram:
    """A program, as both witnesses get it: a folder, and what is started in it."""

    name: str
    """Below tests/."""
    folder: Path
    entry: str
    files: tuple[str, ...]
    """What belongs to it, below the folder; nothing else is copied."""
    arguments: tuple[str, ...] = ()

    @property
    def has_cuda(self) -> bool:
        """Whether the computer that it runs on has CUDA, emulated: where it names it."""
        return self.names("cuda")

    def names(self, *words: str) -> bool:
        """Whether one of some words stands in its files."""
        texts = ((self.folder / name).read_text("utf-8", "replace") for name in self.files)
        return any(word in text for text in texts for word in words)

    @property
    def digest(self) -> str:
        """Of all its files, and of how it is started."""
        digest = hashlib.sha256(repr((self.entry, self.arguments)).encode())
        for name in self.files:
            digest.update(f"\0{name}\0".encode() + (self.folder / name).read_bytes())
        return digest.hexdigest()[:16]


def programs() -> list[TwinProgram]:
    """All that may run, in order of their names; whether one does, its recording says."""
    found = {each.name: each for each in (*_of_patterns(), *_modern(), *_reference())}
    return [found[name] for name in sorted(found)]


def _of_patterns() -> Iterator[TwinProgram]:
    for pattern in _FILES:
        for path in TESTS.glob(pattern):
            name = path.relative_to(TESTS).as_posix()
            if path.suffix == ".py" and _starts_something(path):
                yield TwinProgram(name, path.parent, path.name, (path.name,))
            elif path.is_dir() and (entry := _entry(path)):
                yield TwinProgram(name, path, entry, files_of(path))


def _modern() -> Iterator[TwinProgram]:
    folder = TESTS / "golden/cases/modern"
    for case in json.loads((folder / "expect.json").read_text("utf-8")):
        command = case["run"].split()
        if case["runnable"] and command[0] == "python" and command[1].endswith(".py"):
            path = folder / case["way"] / case["name"]
            name = path.relative_to(TESTS).as_posix()
            yield TwinProgram(name, path, command[1], files_of(path), tuple(command[2:]))


def _reference() -> Iterator[TwinProgram]:
    root = TESTS.parent
    files = tuple(f"reference_impl/{name}" for name in files_of(root / "reference_impl") if not name.startswith("test"))
    options = "--steps=3 --batch_size=4 --train_items=16 --eval_items=4 --out_dir=out"
    for precision in ("fp16", "bf16", "fp32"):
        given = ("reference_impl/configs/tiny_cpu.toml", f"--precision={precision}", *options.split())
        yield TwinProgram(f"reference_impl {precision}", root, "reference_impl/train.py", files, given)


def files_of(folder: Path) -> tuple[str, ...]:
    """What belongs to a program that is a folder."""
    return tuple(
        sorted(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.suffix in _SUFFIXES and path.is_file() and "__pycache__" not in path.parts
        )
    )


def _entry(folder: Path) -> str:
    """What is started in a folder: a file by a usual name, or the only one that starts something."""
    for name in ENTRIES:
        if (folder / name).is_file():
            return name
    starting = [path.name for path in sorted(folder.glob("*.py")) if _starts_something(path)]
    return starting[0] if len(starting) == 1 else ""


def _starts_something(path: Path) -> bool:
    """Whether the file does more than define things: a call, a loop or a condition at its top."""
    try:
        body = ast.parse(path.read_text("utf-8")).body
    except (SyntaxError, ValueError):
        return False
    rest = [node for node in body if not isinstance(node, _SAYS_NOTHING)]
    return any(isinstance(node, ast.Call) for each in rest for node in ast.walk(each))

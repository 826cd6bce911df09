"""Find, read and digest Python source files; nothing here parses them."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path, PurePosixPath

from verifygate.base.errors import UsageError
from verifygate.sources.byte_patterns import Alternatives, whole
from verifygate.sources.outline import OPENS, Span, split, strings_of

AMP_WORDS = Alternatives(
    r"autocast|GradScaler|grad_scaler|" + whole("amp") + r"|custom_fwd|custom_bwd|precision\s*=|unscale_"
    r"|scaler\s*\.\s*(?:scale|step|update)\b"
)
"""A file that matches none of these holds no AMP code of its own."""

MARK_WORDS = re.compile(rb"#\s*requirement:", re.IGNORECASE)
"""A file that does not match this marks no code as a requirement's."""

SET_BY_NAME = Alternatives(r"setattr\(self,\s*[^\"'\s]|self\.__dict__(?:\[|\.update)|vars\(self\)(?:\[|\.update)")
"""In a file that matches none of these every attribute of `self` is written out."""

SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist", "__pypackages__"})
"""Folders of copies and of other people's code; virtual environments are told by their pyvenv.cfg."""
MAX_FILE_BYTES = 4 * 1024 * 1024
"""A larger file is data in the guise of a module: it is named among what was not analysed."""
LARGE_BYTES = 16 * 1024 * 1024
"""Source text of which an analysis would take 200 MiB: of so much, or more, only what is needed is held."""
HELD_AGAIN_BYTES = 256 * 1024
"""Of that text, how much is held of what was read again: rules look at one file several times in a row."""


_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_IF = re.compile(rb"if[ \t]+")
_GAP = rb"(?:[ \t]|\\\n)"
_IMPORT = re.compile(
    rb"[ \t]*(?:from" + _GAP + rb"+([.\w]+?)(?:" + _GAP + rb"+|(?<=\.)))?import\b" + _GAP + rb"*"
    rb"(\((?:[^)#]|#[^\n]*)*\)|(?:[^\n#\\]|\\\n)*)"
)


class SourceUnreadableError(Exception):
    """The file's bytes are not Python source text; the message says why in one line."""


class SourceFile:
    """One file as it stood when it was read. `path` is POSIX and relative to the root (or as the user gave it)."""

    _reads: Reads
    """Where it says that it was read again, once it was let go of."""

    def __init__(self, path: str, data: bytes, origin: str = "") -> None:
        self.path = path
        self.data = data
        self.size = len(data)
        self._origin = origin
        """Where it can be read again; empty where it cannot."""
        self._hash = 0
        self.twin = ""
        """The path of the file that this one is a link to, where that is among the sources."""

    @property
    def is_link(self) -> bool:
        return bool(self._origin) and os.path.islink(self._origin)  # noqa: PTH114 - asked of every file

    @property
    def real_path(self) -> str:
        """Where its bytes lie, links followed."""
        return os.path.realpath(self._origin)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceFile) and (self.path, self.data) == (other.path, other.data)

    def __hash__(self) -> int:
        return hash((self.path, self.data))

    @cached_property
    def data(self) -> bytes:
        """Its bytes; once they were let go of, they are read again. Raises UsageError if they have changed."""
        try:
            data = Path(self._origin).read_bytes()
        except OSError:
            data = None
        if data is None or hash(data) != self._hash:
            raise UsageError("has changed while it was checked", where=self.path, remedy="check again")
        self._reads.append(self)
        return data

    def let_go(self, reads: Reads, *, knows_definitions: bool = False) -> None:
        """Hold the bytes no longer, nor what is as large. What is asked of every file is told from them first."""
        if not self._origin or not self.is_plain or self.sets_by_name:
            return
        self.is_script, self.is_relative, self.stars  # noqa: B018 - worked out once, and kept
        self._hash = hash(self.data)
        self._reads = reads
        for name in ("imports",) if knows_definitions else ("imports", "definitions"):
            self.__dict__.pop(name, None)
        self.forget()

    def forget(self) -> None:
        """Hold no longer what can be read again."""
        for name in ("data", "text", "lines", "_texts"):
            self.__dict__.pop(name, None)

    @cached_property
    def digest(self) -> str:
        import hashlib  # it takes 4 ms to load, and a check that keeps no answer asks for no digest

        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def mentions_amp(self) -> bool:
        return AMP_WORDS.found_in(self.data.replace(b"\0", b""))  # UTF-16 puts a NUL between the letters

    @cached_property
    def has_marks(self) -> bool:
        """Whether a comment in it may say which requirement some code is there for."""
        return MARK_WORDS.search(self.data) is not None

    @cached_property
    def sets_by_name(self) -> bool:
        """Whether some `self` in it gets attributes by names that the source does not tell."""
        return SET_BY_NAME.found_in(self.data)

    @cached_property
    def is_script(self) -> bool:
        """Whether a line at the top level begins with `if __name__`."""
        data, at = self.data, self.data.find(b"__name__")
        while at != -1:
            if _IF.fullmatch(data, data.rfind(b"\n", 0, at) + 1, at):
                return True
            at = data.find(b"__name__", at + 1)
        return False

    @cached_property
    def imports(self) -> tuple[tuple[bytes | None, bytes], ...]:
        """The import statements, read from the bytes: (`x` or None, `y, z as w`) of `from x import y, z as w`.

        Looking for the word itself is ten times faster than a pattern that has to be tried at every line.
        """
        found = []
        data, at = self.data, self.data.find(b"import")
        while at != -1:
            start = data.rfind(b"\n", 0, at) + 1
            while data.endswith(b"\\\n", 0, start):
                start = data.rfind(b"\n", 0, start - 1) + 1
            statement = _IMPORT.match(data, start)
            if statement is not None:
                found.append((statement[1], statement[2]))
            at = data.find(b"import", max(at + 6, statement.end() if statement else 0))
        return tuple(found)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the bytes are the source text as Python reads it: UTF-8, with line ends as `\\n`, not too large."""
        data = self.data
        if len(data) > MAX_FILE_BYTES or b"\r" in data or b"\0" in data or data.startswith(codecs.BOM_UTF8):
            return False
        cookie = _CODING.match(data)
        if cookie is not None and cookie[1].lower() not in (b"utf-8", b"utf8"):
            return False
        try:
            return data.isascii() or bool(data.decode())
        except UnicodeDecodeError:
            return False

    def in_code(self, word: bytes) -> bool:
        """Whether a word stands in the file, and not only in strings with three quotes, as documentation does."""
        at = self.data.find(word)
        while at != -1:
            if not self._is_text(at):
                return True
            at = self.data.find(word, at + len(word))
        return False

    def is_code(self, offset: int) -> bool:
        """Whether what begins there is no part of documentation or of a comment."""
        line = self.data[self.data.rfind(b"\n", 0, offset) + 1 : offset]
        before, sharp, _ = line.partition(b"#")
        comment = sharp and b"'" not in before and b'"' not in before
        return not comment and not self._is_text(offset)

    def _is_text(self, offset: int) -> bool:
        return any(start < offset < end for start, end in self._texts)

    @cached_property
    def _texts(self) -> list[tuple[int, int]]:
        """The strings with three quotes; none of them, where one may begin in a comment or in another string."""
        found = strings_of(self.data) or []
        lines = (self.data[self.data.rfind(b"\n", 0, start) + 1 : start] for start, _ in found)
        return [] if any(OPENS.search(line) for line in lines) else found

    @cached_property
    def definitions(self) -> tuple[Span, ...]:
        """The definitions at the top level, read from the bytes; none where those do not tell them for sure."""
        return tuple(split(self.data)) if self.is_plain else ()

    def may_bind(self, name: str) -> bool:
        """Whether the file may bind a name at its top level, as far as the bytes tell that."""
        return not name.isascii() or b" %b " % name.encode() in self._outline

    @cached_property
    def _outline(self) -> bytes:
        """The words among which are the names that it binds: those between its definitions, and the names of these."""
        parts: list[bytes] = []
        end = 0
        for span in self.definitions if b"global " not in self.data else ():
            parts += (self.data[end : span.start], span.name)
            end = span.end
        return b" %b " % b" ".join(sorted(set(_WORD.findall(b" ".join((*parts, self.data[end:]))))))

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """`x` of each `from x import *`."""
        sources = (source for source, names in self.imports if source and names.strip() == b"*")
        return tuple(source.decode("ascii", "replace") for source in sources)

    @cached_property
    def is_relative(self) -> bool:
        """Whether it imports by `from .`: it is part of a package then, and cannot be run as a script in its folder."""
        return any(source is not None and source.startswith(b".") for source, _ in self.imports)

    @property
    def folder(self) -> str:
        """Where it lies; empty for a file without a folder, and for one right below `/`."""
        return self.path.rpartition("/")[0]

    @property
    def is_test(self) -> bool:
        """Whether the file is one of the project's tests, by the names that pytest goes by."""
        *folders, name = self.path.split("/")
        return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py" or "tests" in folders

    @cached_property
    def text(self) -> str:
        """The decoded text (PEP 263), with line ends as `\\n`. Raises SourceUnreadableError."""
        if self.is_plain:
            return self.data.decode()
        import tokenize  # for few files

        if len(self.data) > MAX_FILE_BYTES:
            raise SourceUnreadableError(f"larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(self.data).readline)
            text = self.data.decode(encoding)
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise SourceUnreadableError(f"not readable as text: {error}") from error
        if "\0" in text:
            raise SourceUnreadableError("holds a NUL byte")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; line n of the file is `lines[n - 1]`. Raises SourceUnreadableError."""
        return self.text.split("\n")


class Reads:
    """The files that were let go of and are read again: the last few of them are held."""

    def __init__(self) -> None:
        self._files: deque[SourceFile] = deque()
        self._size = 0

    def append(self, file: SourceFile) -> None:
        self._files.append(file)
        self._size += file.size
        while self._size > HELD_AGAIN_BYTES and len(self._files) > 1:
            oldest = self._files.popleft()
            self._size -= oldest.size
            oldest.forget()


class Sources:
    """The files under audit, in order of path, read once."""

    def __init__(self, files: Iterable[SourceFile], unreadable: Iterable[tuple[str, str]] = ()) -> None:
        self.files = tuple(sorted(files, key=lambda file: file.path))
        self.unreadable = tuple(unreadable)
        """Path and reason of what the system refused to open."""
        self._by_path = {file.path: file for file in self.files}

    def __iter__(self) -> Iterator[SourceFile]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def are_large(self) -> bool:
        """Whether memory counts for more than time."""
        return sum(file.size for file in self.files) >= LARGE_BYTES

    def get(self, path: str) -> SourceFile | None:
        return self._by_path.get(path)

    def each(self, paths: Iterable[str]) -> Iterator[SourceFile]:
        """The files at those paths that are under audit."""
        return (file for path in paths if (file := self._by_path.get(path)) is not None)

    def line(self, path: str, line: int) -> str:
        """The stripped source line, or the empty string where there is none."""
        file = self._by_path.get(path)
        try:
            return file.lines[line - 1].strip() if file and 0 < line <= len(file.lines) else ""
        except SourceUnreadableError:
            return ""

    @cached_property
    def digest(self) -> str:
        """sha256 over the path and digest of every file: the identity of the audited tree."""
        import hashlib

        tree = hashlib.sha256()
        for file in self.files:
            tree.update(f"{file.path}\0{file.digest}\n".encode())
        return tree.hexdigest()


def read_sources(root: Path, paths: Iterable[str], exclude: Iterable[str] = (), *, confined: bool = True) -> Sources:
    """Read every Python file at or below `paths`, which are relative to `root`.

    Folders that hold no project code (hidden ones, environments, build outputs) are skipped; a file named outright
    is always read. With `confined`, a path that resolves outside `root` is refused. Raises UsageError.
    """
    found: dict[str, SourceFile] = {}
    unreadable: list[tuple[str, str]] = []
    patterns = tuple(exclude)
    for given in paths:
        start = root / given
        if not start.exists():
            raise UsageError("no such file or folder", where=given, remedy="give a path that exists")
        if confined and not start.resolve().is_relative_to(root.resolve()):
            raise UsageError(
                "is outside the project's root",
                where=given,
                remedy="sources must be below the configuration's folder",
            )
        shut: list[OSError] = []
        for file in [start] if start.is_file() else walk(start, shut.append):
            path = _shown(file, root, given)
            if path in found or any(fnmatch(path, pattern) for pattern in patterns):
                continue
            if not speakable(path):
                shown = path.encode("utf-8", "backslashreplace").decode()
                unreadable.append((shown, "its name is no text in this locale: rename it, or set PYTHONUTF8=1"))
                continue
            try:
                found[path] = SourceFile(path, file.read_bytes(), os.fspath(file))
            except OSError as error:
                unreadable.append((path, f"cannot be read: {error.strerror}"))
        unreadable += [
            (_shown(Path(error.filename), root, given), f"cannot be read: {error.strerror}") for error in shut
        ]
    _tell_links(found.values())
    return Sources(found.values(), unreadable)


def _tell_links(files: Iterable[SourceFile]) -> None:
    """Note of each link to another of the files which one it is."""
    links = {file for file in files if file.is_link}
    if links:
        homes = {file.real_path: file.path for file in files if file not in links}
        for link in links:
            link.twin = homes.get(link.real_path, "")


def speakable(path: str) -> bool:
    """Whether a file's name is text: on most systems it may be any bytes, and reports cannot hold those."""
    try:
        return path.isascii() or bool(path.encode())
    except UnicodeEncodeError:
        return False


def walk(folder: Path, on_error: Callable[[OSError], object] | None = None) -> Iterator[Path]:
    """Yield the `*.py` files below a folder in a stable order; links to folders are not followed.

    `on_error` is told of each folder that cannot be listed.
    """
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        if on_error is not None:
            on_error(error)
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            file = folder / entry.name
            if entry.is_file(follow_symlinks=False) or file.is_file():  # the entry raises for a link to itself
                yield file
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not _skipped(folder, entry.name):
            yield from walk(folder / entry.name, on_error)


def _skipped(parent: Path, name: str) -> bool:
    if name.startswith(".") or name in SKIPPED_FOLDERS:
        return True
    return (parent / name / "pyvenv.cfg").exists()


def _shown(file: Path, root: Path, given: str) -> str:
    if os.path.isabs(given):  # noqa: PTH117 - asked of every file
        return file.as_posix()
    start = f"{root}{os.sep}"
    if str(file).startswith(start) and ".." not in given:
        return file.as_posix()[len(start) :]
    return PurePosixPath(os.path.normpath(os.path.relpath(file, root))).as_posix()


def give_back() -> None:
    """Give the system the memory that was let go of: the C library keeps what lies below something still held."""
    import ctypes  # for large sources alone

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return  # other C libraries do it by themselves, or not at all

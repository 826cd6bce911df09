"""One Python source file: its bytes, its decoded text, and what the bytes tell without a parse."""

from __future__ import annotations

import codecs
import io
import os
import re
from bisect import bisect_right
from collections import deque
from functools import cached_property

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import read_regular
from verifygate.sources.byte_patterns import Alternatives, whole
from verifygate.sources.outline import OPENS, Span, split, strings_of

AMP_WORDS = Alternatives(
    r"autocast|GradScaler|grad_scaler|" + whole("amp") + r"|custom_fwd|custom_bwd|precision\s*=|unscale_"
    r"|scaler\s*\.\s*(?:scale|step|update)\b|fp16\s*=|bf16\s*="
)
"""A file that matches none of these holds no AMP code of its own."""

MARK_WORDS = re.compile(rb"#\s*requirement:", re.IGNORECASE)
"""A file that does not match this links no code to a requirement."""

SET_BY_NAME = Alternatives(r"setattr\(self,\s*[^\"'\s]|self\.__dict__(?:\[|\.update)|vars\(self\)(?:\[|\.update)")
"""In a file that matches none of these, every attribute of `self` is set by its name."""

MAX_FILE_BYTES = 4 * 1024 * 1024
"""A larger file is data in the guise of a module; it is reported as not analysed."""
MOST_SEARCHED_BYTES = 16 * MAX_FILE_BYTES
"""As much of it is searched for words of AMP; of a file that is larger still nothing is known."""
HELD_AGAIN_BYTES = 256 * 1024
"""How much of released text is held once it is read again: rules look at one file several times in a row."""

_ODD_LETTERS = (b"\xf0\x9d", b"\xef\xbd")
"""How mathematical and wide small letters begin in UTF-8."""
_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_IF = re.compile(rb"if[ \t]+")
_GAP = rb"(?:[ \t]|\\\n)"
_IMPORT = re.compile(
    rb"[ \t]*(?:from" + _GAP + rb"+([.\w]+?)(?:" + _GAP + rb"+|(?<=\.)))?import\b" + _GAP + rb"*"
    rb"(\((?:[^)#]|#[^\n]*)*\)|(?:[^\n#\\]|\\\n)*)"
)


def is_encodable(path: str) -> bool:
    """Whether a file's name is valid Unicode: on most systems it may be any bytes, and reports cannot hold those."""
    try:
        return path.isascii() or bool(path.encode())
    except UnicodeEncodeError:
        return False


class SourceUnreadableError(Exception):
    """The file's bytes are not Python source text; the message says why in one line."""


class SourceFile:
    """One file as it stood when it was read. `path` is POSIX and relative to the root (or as the user gave it)."""

    _reads: Reads
    """The files read again, which this one is added to when it is; set by `let_go`."""

    def __init__(self, path: str, data: bytes, origin: str = "") -> None:
        self.path = path
        self.data = data
        self.size = len(data)
        self._origin = origin
        """Where it can be read again; empty where it cannot."""
        self._hash = 0
        self.twin = ""
        """The path of the file that this one is a link to, where that is among the sources."""
        self.parses = False
        """Whether it is known to be Python, as a whole."""

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
        """Its bytes, read again after `let_go`. Raises UsageError if they have changed."""
        try:
            data = read_regular(self._origin, MAX_FILE_BYTES)
        except OSError:
            data = None
        if data is None or hash(data) != self._hash:
            raise UsageError("has changed while it was checked", where=self.path, remedy="check again")
        self._reads.append(self)
        return data

    def let_go(self, reads: Reads, *, knows_definitions: bool = False) -> None:
        """Release the bytes and what is as large; what is queried of every file is computed from them first."""
        if not self._origin or not self.is_plain or self.sets_by_name:
            return
        self.is_script, self.is_relative, self.stars  # noqa: B018 - computed now, and kept
        self.mentions_amp, self.hides_amp, self.runs_encoded  # noqa: B018
        self._hash = hash(self.data)
        self._reads = reads
        for name in ("imports",) if knows_definitions else ("imports", "definitions"):
            self.__dict__.pop(name, None)
        self.forget()

    def forget(self) -> None:
        """Release what can be read again."""
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
    def hides_amp(self) -> bool:
        """Whether it mentions AMP only in letters that Python reads as plain ones (mathematical and wide ones)."""
        if self.mentions_amp or not any(sign in self.data for sign in _ODD_LETTERS):
            return False
        import unicodedata  # for few files

        text = unicodedata.normalize("NFKC", self.data.decode("utf-8", "replace"))
        return AMP_WORDS.found_in(text.encode("utf-8", "replace"))

    @cached_property
    def runs_encoded(self) -> bool:
        """Whether it may run a text that stands in it in another alphabet."""
        return b"exec(" in self.data and any(word in self.data for word in (b"b64decode", b"fromhex", b"unhexlify"))

    @cached_property
    def has_marks(self) -> bool:
        """Whether a comment in it may link code to a requirement."""
        return MARK_WORDS.search(self.data) is not None

    @cached_property
    def sets_by_name(self) -> bool:
        """Whether attributes of some `self` are set by computed names (`setattr(self, name, ...)`)."""
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
        """Whether a word occurs outside triple-quoted strings (documentation)."""
        at = self.data.find(word)
        while at != -1:
            if not self._is_text(at):
                return True
            at = self.data.find(word, at + len(word))
        return False

    def is_code(self, offset: int) -> bool:
        """Whether an offset lies outside triple-quoted strings and comments."""
        line = self.data[self.data.rfind(b"\n", 0, offset) + 1 : offset]
        before, sharp, _ = line.partition(b"#")
        comment = sharp and b"'" not in before and b'"' not in before
        return not comment and not self._is_text(offset)

    def _is_text(self, offset: int) -> bool:
        at = bisect_right(self._texts, (offset,)) - 1
        return at >= 0 and offset < self._texts[at][1]

    @cached_property
    def _texts(self) -> list[tuple[int, int]]:
        """Spans of triple-quoted strings; none, where one may begin in a comment or in another string."""
        found = strings_of(self.data) or []
        lines = (self.data[self.data.rfind(b"\n", 0, start) + 1 : start] for start, _ in found)
        return [] if any(OPENS.search(line) for line in lines) else found

    @cached_property
    def definitions(self) -> tuple[Span, ...]:
        """The top-level definitions, read from the bytes; none where the bytes leave a doubt."""
        return tuple(split(self.data)) if self.is_plain else ()

    def may_bind(self, name: str) -> bool:
        """Whether the file may bind a name at its top level: never False for one that it binds."""
        return not name.isascii() or b" %b " % name.encode() in self._outline

    @cached_property
    def _outline(self) -> bytes:
        """A superset of the names that it binds: all words between its definitions, and the names of these."""
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
        """Whether it has relative imports: it is part of a package then, and is not run as a script in its folder."""
        return any(source is not None and source.startswith(b".") for source, _ in self.imports)

    @property
    def folder(self) -> str:
        """Its folder; empty for a file without one, and for one right below `/`."""
        return self.path.rpartition("/")[0]

    @cached_property
    def is_test(self) -> bool:
        """Whether the file is one of the project's tests, by pytest's naming conventions."""
        *folders, name = self.path.split("/")
        return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py" or "tests" in folders

    @cached_property
    def text(self) -> str:
        """The decoded text (PEP 263), with line ends as `\\n`. Raises SourceUnreadableError."""
        return self.text_with_ends.replace("\r\n", "\n").replace("\r", "\n")

    @property
    def text_with_ends(self) -> str:
        """The decoded text, with line ends as they are. Raises SourceUnreadableError."""
        if self.is_plain:
            return self.data.decode()
        if len(self.data) > MAX_FILE_BYTES:
            raise SourceUnreadableError(f"larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
        try:
            text = self.data.decode(self._encoding)
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise SourceUnreadableError(f"not readable as text: {error}") from error
        if "\0" in text:
            raise SourceUnreadableError("holds a NUL byte")
        return text

    def encoded(self, text: str) -> bytes:
        """Another text as bytes of this file: in its encoding and with its line ends. The inverse of `text`."""
        if self.is_plain:
            return text.encode()
        end = re.search(rb"\r\n|\r|\n", self.data)
        return text.replace("\n", end[0].decode() if end else "\n").encode(self._encoding)

    @property
    def _encoding(self) -> str:
        import tokenize  # for few files

        return tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; line n of the file is `lines[n - 1]`. Raises SourceUnreadableError."""
        return self.text.split("\n")


class Reads:
    """Released files that were read again; the last few of them are held."""

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

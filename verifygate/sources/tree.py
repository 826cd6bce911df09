"""The source files under audit, as one tree: read once, in order of path."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.file import Reads, SourceFile, SourceUnreadableError

LARGE_BYTES = 16 * 1024 * 1024
"""From this much source text on, files are released and read again: held, an analysis would take 200 MiB."""


MOST_EXAMPLES = 5


class LeftOut(NamedTuple):
    """Files that a walk found and one rule kept from being read."""

    rule: str
    """`.gitignore:3: /outputs/`, or `[project] exclude: /legacy/`."""
    files: int
    examples: tuple[str, ...]
    """The first paths, in order."""


def left_out_by_rule(reasons: Mapping[str, str]) -> tuple[LeftOut, ...]:
    """Paths that were left out, by what left them out."""
    by_rule: dict[str, list[str]] = {}
    for path in sorted(reasons):
        by_rule.setdefault(reasons[path], []).append(path)
    return tuple(LeftOut(rule, len(paths), tuple(paths[:MOST_EXAMPLES])) for rule, paths in sorted(by_rule.items()))


class Sources:
    """The files under audit, in order of path, read once."""

    def __init__(
        self,
        files: Iterable[SourceFile],
        unreadable: Iterable[tuple[str, str]] = (),
        configuration: Iterable[ConfigurationFile] = (),
        links: Iterable[SourceFile] = (),
        left_out: Iterable[LeftOut] = (),
    ) -> None:
        self.files = tuple(sorted(files, key=lambda file: file.path))
        self.unreadable = tuple(unreadable)
        """(path, reason) of each file or folder that the system refused to open."""
        self.configuration = tuple(sorted(configuration, key=lambda file: file.path))
        """What is no Python and may set a precision."""
        self.links = tuple(links)
        """Symbolic links that are left out of the files, because each is the file of `twin` as a module too."""
        self.left_out = tuple(left_out)
        """Sources that the configuration or git leaves out."""
        self._by_path = {file.path: file for file in self.files}

    def __iter__(self) -> Iterator[SourceFile]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def are_large(self) -> bool:
        """Whether to save memory at the cost of time."""
        return sum(file.size for file in self.files) >= LARGE_BYTES

    @property
    def paths(self) -> Iterator[str]:
        """The paths of all files and links, and of what could not be opened."""
        yield from self._by_path
        yield from (link.path for link in self.links)
        yield from (path for path, _ in self.unreadable)

    def get(self, path: str) -> SourceFile | None:
        return self._by_path.get(path)

    def at(self, path: str) -> SourceFile | None:
        """The file at a path, or the one that a link there leads to."""
        return self._by_path.get(path) or self._by_path.get(self._homes.get(path, ""))

    @cached_property
    def _homes(self) -> dict[str, str]:
        return {link.path: link.twin for link in self.links}

    def named(self, name: str) -> list[str]:
        """The paths of the files of that name, in any folder."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._by_path:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def each(self, paths: Iterable[str]) -> Iterator[SourceFile]:
        """The files at those paths that are under audit."""
        return (file for path in paths if (file := self._by_path.get(path)) is not None)

    def line(self, path: str, line: int) -> str:
        """The stripped source line, or the empty string where there is none."""
        file = self._by_path.get(path)
        if file is None and line:
            lines = next((each.lines for each in self.configuration if each.path == path), [])
            return lines[line - 1].strip() if line <= len(lines) else ""
        try:
            return file.lines[line - 1].strip() if file and 0 < line <= len(file.lines) else ""
        except SourceUnreadableError:
            return ""

    def let_go(self, of_definitions: Container[str]) -> None:
        """Release the text of all files: what is needed later is read again.

        Files in `of_definitions` keep the places of their definitions.
        """
        reads = Reads()
        for file in (*self.files, *self.links):
            file.let_go(reads, knows_definitions=file.path in of_definitions)
        _trim_heap()

    @cached_property
    def digest(self) -> str:
        """sha256 over the path and digest of every file: the identity of the audited tree."""
        import hashlib

        tree = hashlib.sha256()
        for file in self.files:
            tree.update(f"{file.path}\0{file.digest}\n".encode())
        return tree.hexdigest()


def _trim_heap() -> None:
    """Return freed memory to the system: the C library keeps what lies below something still held."""
    import ctypes  # for large sources alone

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return  # other C libraries do it by themselves, or not at all

"""Follow Hydra's composition as far as it is written out: the primary configuration and its defaults lists."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from verifygate.base.records import record
from verifygate.configured_precision.document import Item
from verifygate.sources.file import SourceFile

_MAIN = re.compile(rb"(?:hydra\.main|initialize|initialize_config_dir|compose)\(([^)]*)\)")
_PATH = re.compile(rb"config_(?:path|dir)\s*=\s*[\"']([^\"']+)[\"']")
_NAME = re.compile(rb"config_name\s*=\s*[\"']([^\"']+)[\"']")
_MAX_FILES = 60


@record
class Composed:
    """One file that a composition takes in."""

    path: str
    group: tuple[str, ...]
    """The keys below which its content lands."""
    place: str
    """What takes it in: `train.py:12`, or `configs/train.yaml:4`."""


@record
class NotComposed:
    """An entry of a defaults list that says which file only when the program starts."""

    path: str
    line: int
    entry: str


def composed(file: SourceFile, read: Callable[[str], Item | None]) -> Iterator[Composed | NotComposed]:
    """What the configurations that a source names for Hydra come to; `read` gives the document at a path, if any."""
    if b"hydra" not in file.data:
        return
    for call in _MAIN.finditer(file.data):
        folder, name = _PATH.search(call[1]), _NAME.search(call[1])
        if name is None:
            continue
        below = folder[1].decode("utf-8", "replace") if folder is not None else "."
        root = posixpath.normpath(posixpath.join(file.folder, below))
        line = file.data.count(b"\n", 0, call.start()) + 1
        yield from _Walk(root, read).file(name[1].decode("utf-8", "replace"), (), f"{file.path}:{line}")


class _Walk:
    def __init__(self, root: str, read: Callable[[str], Item | None]) -> None:
        self._root = root
        self._read = read
        self._seen: set[str] = set()

    def file(self, name: str, group: tuple[str, ...], place: str) -> Iterator[Composed | NotComposed]:
        """The files of one entry: those of its own defaults list first, as the file itself overrides them."""
        stem = name.removesuffix(".yaml").removesuffix(".yml")
        path = posixpath.normpath(posixpath.join(self._root, *group, stem)) + ".yaml"
        document = self._read(path)
        if document is None or path in self._seen or len(self._seen) >= _MAX_FILES:
            return
        self._seen.add(path)
        defaults = document.get("defaults")
        for entry in defaults.value if defaults is not None and isinstance(defaults.value, list) else ():
            yield from self._entry(entry, group, path)
        yield Composed(path, (*group, *posixpath.dirname(stem).split("/")) if "/" in stem else group, place)

    def _entry(self, entry: Item, group: tuple[str, ...], path: str) -> Iterator[Composed | NotComposed]:
        place = f"{path}:{entry.line}"
        if entry.is_scalar:
            if entry.text != "_self_":
                yield from self.file(entry.text, group, place)
            return
        for key, chosen in entry.table.items():
            name = key.removeprefix("optional ").removeprefix("override ").partition("@")[0].strip()
            place = f"{path}:{chosen.line}"
            if key.startswith("override ") or chosen.value is None:
                continue
            if "$" in chosen.text or chosen.text == "???":
                yield NotComposed(path, chosen.line, f"{key}: {chosen.text}")
                continue
            below = tuple(name.strip("/").split("/")) if name.startswith("/") else (*group, *name.split("/"))
            for each in chosen.value if isinstance(chosen.value, list) else [chosen]:
                yield from self.file(each.text, below, place)

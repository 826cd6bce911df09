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
_PACKAGE = re.compile(rb"\A(?:[ \t]*(?:#[^\n]*)?\n)*?[ \t]*#[ \t]*@package[ \t]+([\w.]+)")
"""The comment at the top of a file that says below which keys it lands."""
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
    """An entry of a defaults list whose file is not known."""

    path: str
    line: int
    entry: str
    group: tuple[str, ...]
    """The keys below which its content would land."""
    is_absent: bool
    """Whether it is written out, and that file is not here; else the program says it when it starts."""

    @property
    def reason(self) -> str:
        why = "names a file that is not here" if self.is_absent else "is chosen when the program starts"
        return f"`{self.entry}` {why}"


Read = Callable[[str], tuple[Item, bytes] | None]
"""The document at a path, and the bytes of its file; None where there is none."""


def composed(file: SourceFile, read: Read) -> Iterator[Composed | NotComposed]:
    """What the configurations that a source names for Hydra come to."""
    if b"hydra" not in file.data:
        return
    for call in _MAIN.finditer(file.data):
        folder, name = _PATH.search(call[1]), _NAME.search(call[1])
        if name is None:
            continue
        below = folder[1].decode("utf-8", "replace") if folder is not None else "."
        root = posixpath.normpath(posixpath.join(file.folder, below))
        line = file.data.count(b"\n", 0, call.start()) + 1
        yield from _Walk(root, read).file(name[1].decode("utf-8", "replace"), (), (), f"{file.path}:{line}")


def composed_from(path: str, read: Read) -> Iterator[Composed | NotComposed]:
    """What a primary configuration comes to, in the order in which a later part overrides an earlier one."""
    folder, _, name = path.rpartition("/")
    yield from _Walk(folder or ".", read).file(name, (), (), path)


class _Walk:
    def __init__(self, root: str, read: Read) -> None:
        self._root = root
        self._read = read
        self._seen: set[str] = set()

    def file(
        self, name: str, folder: tuple[str, ...], package: tuple[str, ...], place: str
    ) -> Iterator[Composed | NotComposed]:
        """The files of one entry: those of its own defaults list where that says so, which is before it by default."""
        name = name.lstrip("/")
        stem = name.removesuffix(".yaml").removesuffix(".yml")
        path = posixpath.normpath(posixpath.join(self._root, *folder, stem)) + posixpath.splitext(name)[1]
        path = path if path.endswith((".yaml", ".yml")) else f"{path}.yaml"
        found = self._read(path)
        if found is None or path in self._seen or len(self._seen) >= _MAX_FILES:
            return
        self._seen.add(path)
        document, data = found
        if "/" in stem:
            folder = (*folder, *posixpath.dirname(stem).split("/"))
        if (said := _PACKAGE.match(data)) is not None:
            words = said[1].decode("ascii", "replace").split(".")
            package = package if words == ["_group_"] else tuple(each for each in words if each != "_global_")
        own = Composed(path, package, place)
        defaults = document.get("defaults")
        entries = defaults.value if defaults is not None and isinstance(defaults.value, list) else []
        for entry in entries:
            if entry.text == "_self_":
                yield own
            else:
                yield from self._entry(entry, folder, package, path)
        if not any(entry.text == "_self_" for entry in entries):
            yield own

    def _entry(
        self, entry: Item, folder: tuple[str, ...], package: tuple[str, ...], path: str
    ) -> Iterator[Composed | NotComposed]:
        if entry.is_scalar:
            around = tuple(entry.text.split("/")[:-1])
            lands = around[1:] if around[:1] == ("",) else (*package, *around)
            yield from self._chosen(entry, () if entry.text.startswith("/") else folder, lands, path, entry.text)
            return
        for key, chosen in entry.table.items():
            words, at, target = key.partition("@")
            if words.startswith("override ") or chosen.value is None:
                continue
            name = words.removeprefix("optional ").strip()
            inside = tuple(name.strip("/").split("/"))
            below = inside if name.startswith("/") else (*folder, *inside)
            lands = (*package, *inside) if not name.startswith("/") else inside
            if at:
                lands = () if target == "_global_" else (*package, *target.strip().split("."))
            is_optional = words.startswith("optional ")
            for each in chosen.value if isinstance(chosen.value, list) else [chosen]:
                said = "" if is_optional else f"{key}: {each.text}"
                yield from self._chosen(each, below, lands, path, said)

    def _chosen(
        self, name: Item, folder: tuple[str, ...], package: tuple[str, ...], path: str, said: str
    ) -> Iterator[Composed | NotComposed]:
        """The files of one name; `said` is the entry as written, empty where Hydra does without that file."""
        if "$" in name.text or name.text == "???":
            yield NotComposed(path, name.line, said or name.text, package, is_absent=False)
            return
        parts = list(self.file(name.text, folder, package, f"{path}:{name.line}"))
        if said and not parts:
            yield NotComposed(path, name.line, said, package, is_absent=True)
        yield from parts

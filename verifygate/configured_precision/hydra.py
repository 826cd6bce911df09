"""Follow Hydra's composition as far as it is written out: the primary configuration and its defaults lists."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from verifygate.base.records import record
from verifygate.configured_precision.document import MAX_DEPTH, Item
from verifygate.sources.file import SourceFile

_MAIN = re.compile(rb"(?:hydra\.main|initialize|initialize_config_dir|compose)\(([^)]*)\)")
_PATH = re.compile(rb"config_(?:path|dir)\s*=\s*[\"']([^\"']+)[\"']")
_NAME = re.compile(rb"config_name\s*=\s*[\"']([^\"']+)[\"']")
_PACKAGE = re.compile(rb"\A(?:[ \t]*(?:#[^\n]*)?\n)*?[ \t]*#[ \t]*@package[ \t]+([\w.]+)")
"""The comment at the top of a file that says below which keys it lands."""
_MAX_FILES = 60
OPEN = "is chosen when the program starts"
ABSENT = "names a file that is not here"
_OVERRIDE = "replaces another entry, which is not followed"


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
    why: str
    """`OPEN`, or what else stands in the way."""

    @property
    def reason(self) -> str:
        return f"`{self.entry}` {self.why}"


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


def lands_at_the_root(data: bytes) -> bool:
    """Whether a file says that its content lands below no key, so that it may set any."""
    said = _PACKAGE.match(data)
    return said is not None and said[1] == b"_global_"


class _Walk:
    def __init__(self, root: str, read: Read) -> None:
        self._root = root
        self._read = read
        self._within: list[str] = []
        """The files in the defaults lists of which the walk is: none of them takes itself in."""
        self._taken = 0

    def file(
        self, name: str, folder: tuple[str, ...], package: tuple[str, ...], place: str
    ) -> Iterator[Composed | NotComposed]:
        """The files of one entry: those of its own defaults list where that says so, which is before it by default."""
        name = name.lstrip("/")
        stem = name.removesuffix(".yaml").removesuffix(".yml")
        suffix = ".yml" if name.endswith(".yml") else ".yaml"
        path = posixpath.normpath(posixpath.join(self._root, *folder, stem)) + suffix
        found = self._read(path)
        if found is None or path in self._within or self._taken >= _MAX_FILES:
            return
        self._taken += 1
        document, data = found
        if "/" in stem:
            folder = (*folder, *posixpath.dirname(stem).split("/"))
        if (said := _PACKAGE.match(data)) is not None:
            words = said[1].decode("ascii", "replace").split(".")
            package = package if words == ["_group_"] else tuple(each for each in words if each != "_global_")
        if len(package) > MAX_DEPTH:
            return
        own = Composed(path, package, place)
        defaults = document.get("defaults")
        entries = defaults.value if defaults is not None and isinstance(defaults.value, list) else []
        self._within.append(path)
        for entry in entries:
            if entry.text == "_self_":
                yield own
            else:
                yield from self._entry(entry, folder, package, path)
        self._within.pop()
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
            if chosen.value is None:
                continue
            name = words.removeprefix("override ").removeprefix("optional ").strip()
            inside = tuple(each for each in name.split("/") if each not in ("", "."))
            below = inside if name.startswith("/") else (*folder, *inside)
            lands = (*package, *inside) if not name.startswith("/") else inside
            if at:
                lands = () if target == "_global_" else (*package, *target.strip().split("."))
            if words.startswith("override "):
                if inside[:1] != ("hydra",):
                    yield NotComposed(path, chosen.line, f"{key}: {chosen.text}", lands, _OVERRIDE)
                continue
            is_optional = words.startswith("optional ")
            for each in chosen.value if isinstance(chosen.value, list) else [chosen]:
                said = "" if is_optional else f"{key}: {each.text}"
                yield from self._chosen(each, below, lands, path, said)

    def _chosen(
        self, name: Item, folder: tuple[str, ...], package: tuple[str, ...], path: str, said: str
    ) -> Iterator[Composed | NotComposed]:
        """The files of one name; `said` is the entry as written, empty where Hydra does without that file."""
        if "$" in name.text or name.text == "???":
            yield NotComposed(path, name.line, said or name.text, package, OPEN)
            return
        parts = list(self.file(name.text, folder, package, f"{path}:{name.line}"))
        if said and not parts:
            yield NotComposed(path, name.line, said, package, ABSENT)
        yield from parts

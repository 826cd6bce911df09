"""The folders as a confined process sees them: private copies, empty ones, what is hidden, devices. Linux only."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from verifygate.process.kernel import BIND, NO_DEVICES, NO_SETUID, READ_ONLY, RECURSIVE, call, mount

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module that knows takes longer to load than all others
    from typing import Any

_OF_KERNEL = ("proc", "sys", "dev", "run")
"""Folders in the root that hold no files of a disk."""
_OF_EVERYBODY = ("/tmp", "/var/tmp")  # noqa: S108 - not to be written, but to be covered
"""Folders of root in which everybody writes. Inside a copy of the folder around it the kernel refuses that."""
_DEVICES = "null zero full random urandom tty nvidia* dri kfd infiniband".split()  # noqa: SIM905
_LINKS = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd"}
_LINKS |= {name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))}
_MOUNT_SETATTR = 442


class Folders:
    """The folders as the program sees them."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self._store = f"/proc/self/fd/{os.open(orders['store'], os.O_PATH | os.O_CLOEXEC)}"
        self._number = 0
        self.shared = real(orders["share"])
        guard = real(orders["guard"])
        self.guard = [place for place in guard if not any(within(each, [place]) for each in self.shared)]
        self.private: list[Path] = []
        """What is written in these is the program's own."""
        self._read_only: list[Path] = []
        self._pinned: list[Path] = []

    def build(self, orders: dict[str, Any]) -> None:
        """Cover what is not shared, show again what lies below, and guard what lies in what is shared."""
        here, cover, own = Path.cwd(), real(orders["cover"]), real(orders["own"])
        copied = [place for place in cover if within(place, own) and not within(place, self.shared)]
        shown = [place for place in real(orders["show"]) if not within(place, [*self.shared, *copied])]
        kept = {place: os.open(place, os.O_PATH | os.O_CLOEXEC) for place in (*self.shared, *copied, *shown)}
        for place in self._candidates([*cover, *self.guard]):
            is_covered = within(place, self.private) and str(place) not in _OF_EVERYBODY
            if not (is_covered or within(place, [*self.shared, *own])):
                with contextlib.suppress(OSError):
                    self._overlay(place)
        for place in sorted(own, key=_depth):
            self._empty(place)
        for place in real(("/run", "/var/run")) if orders["required"] else ():
            self._empty_run(place)
        for place, descriptor in sorted(kept.items(), key=lambda item: _depth(item[0])):
            if within(place, self.private):
                self._bind(f"/proc/self/fd/{descriptor}", place, read_only=place in shown)
            if place in copied:
                self._overlay(place)
            os.close(descriptor)
        for place in self.guard:
            self._guard(place)
        os.chdir(here)  # the folder of that name is another one now

    @property
    def writable(self) -> list[Path]:
        return [*self.private, *self.shared, Path("/dev")]

    def keeps(self, place: Path) -> bool:
        """Whether nothing that is done there stays: the innermost of the folders around it counts."""
        around = {*self.private, *self._read_only, *self.shared}
        innermost = next((each for each in (place, *place.parents) if each in around), None)
        return innermost is not None and innermost not in self.shared

    def replace(self, place: str, text: str) -> None:
        file = Path(self._new())
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
        mount(str(file), place, None, BIND)

    def _candidates(self, wanted: Sequence[Path]) -> list[Path]:
        """Folders to cover, outer ones first: the wanted, those in the root, and where something is mounted."""
        mounts = (line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
        mounted = (fields[4].encode().decode("unicode_escape") for fields in mounts if "rw" in fields[5].split(","))
        top = (entry.path for entry in os.scandir("/") if entry.is_dir(follow_symlinks=False))
        found = {*wanted, *map(Path, (*top, *mounted, *_OF_EVERYBODY))}
        return sorted((place for place in found if place.parts[1:2] and place.parts[1] not in _OF_KERNEL), key=_depth)

    def _new(self) -> str:
        self._number += 1
        return f"{self._store}/{self._number}"

    def _overlay(self, place: Path) -> None:
        """Cover a folder with an overlay of it, whose changes are kept in the store."""
        upper, work = Path(self._new()), Path(self._new())
        upper.mkdir()
        work.mkdir()
        upper.chmod(stat.S_IMODE(place.stat().st_mode))
        layers = {"lowerdir": place, "upperdir": upper, "workdir": work}
        opened = {name: os.open(path, os.O_PATH | os.O_CLOEXEC) for name, path in layers.items()}
        options = ",".join(f"{name}=/proc/self/fd/{descriptor}" for name, descriptor in opened.items())
        try:
            mount("overlay", str(place), b"overlay", 0, f"{options},userxattr,volatile")
        finally:
            for descriptor in opened.values():
                os.close(descriptor)
        self.private.append(place)

    def _empty(self, place: Path) -> None:
        if within(place, self.private):  # one around it is empty
            place.mkdir(parents=True, exist_ok=True)
            return
        folder = Path(self._new())
        folder.mkdir()
        folder.chmod(0o1777)
        mount(str(folder), str(place), None, BIND)
        self.private.append(place)

    def _empty_run(self, place: Path) -> None:
        """An empty folder with the links that were there: some systems keep their programs behind one."""
        links = {each.name: each.readlink() for each in place.iterdir() if each.is_symlink()}
        mount("none", str(place), b"tmpfs", NO_SETUID | NO_DEVICES, "mode=755")
        for name, target in links.items():
            (place / name).symlink_to(target)
        self.private.append(place)

    def _bind(self, source: str, place: Path, *, read_only: bool = False) -> None:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir() if Path(source).is_dir() else place.touch()
        mount(source, str(place), None, BIND | RECURSIVE)
        if read_only:
            attributes = struct.pack("QQQQ", READ_ONLY, 0, 0, 0)
            call("syscall", _MOUNT_SETATTR, -100, os.fsencode(place), 0x8000, attributes, len(attributes))
            self._read_only.append(place)

    def _guard(self, place: Path) -> None:
        """A private copy, or none that can be written. No folder around it can be moved away: it is a mount, too."""
        outer = [each for each in self.shared if within(place, [each])]
        if self.keeps(place) or place in outer:  # what is shared itself is wanted as it is
            return
        for folder in reversed(place.parents):
            if outer and max(outer, key=_depth) in folder.parents and folder not in self._pinned:
                self._bind(str(folder), folder)
                self._pinned.append(folder)
        try:
            self._overlay(place)
        except OSError:
            self._bind(str(place), place, read_only=True)


def real(places: Iterable[str]) -> list[Path]:
    """Those that are there, without links, each once."""
    return list(dict.fromkeys(Path(os.path.realpath(place)) for place in places if os.path.exists(place)))  # noqa: PTH110


def within(place: Path, outer: Iterable[Path]) -> bool:
    return not set(outer).isdisjoint((place, *place.parents))


def _depth(place: Path) -> tuple[int, str]:
    return len(place.parts), str(place)


def hide(places: Iterable[str]) -> None:
    """Cover each folder with an empty one, and everything else with an empty file."""
    for place in places:
        if os.path.isdir(place):  # noqa: PTH112 - also where it cannot be reached: then it is none for the program
            mount("none", place, b"tmpfs", READ_ONLY)
        elif os.path.exists(place):  # noqa: PTH110
            mount("/dev/null", place, None, BIND)


def sockets() -> list[str]:
    """Addresses in the file system at which somebody listens, also somebody outside of a container."""
    listed = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    found = [fields[7] for line in listed if len(fields := line.split(maxsplit=7)) > 7]
    found += [line.split()[4].encode().decode("unicode_escape") for line in mounts]
    return [place for place in dict.fromkeys(found) if place.startswith("/")]


def is_socket(place: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISSOCK(os.stat(place).st_mode)  # noqa: PTH116
    return False


def own_devices() -> None:
    """A folder of devices with those alone that programs use: no disks, no terminals, no memory of others."""
    wanted = [path for name in _DEVICES for path in Path("/dev").glob(name)]
    kept = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in wanted}
    folders = {path for path in wanted if path.is_dir()}
    mount("none", "/dev", b"tmpfs", NO_SETUID, "mode=755")
    for path, descriptor in kept.items():
        path.mkdir() if path in folders else path.touch()
        mount(f"/proc/self/fd/{descriptor}", str(path), None, BIND | RECURSIVE)
        os.close(descriptor)
    for name, kind, options in (
        ("shm", b"tmpfs", "mode=1777"),
        ("pts", b"devpts", "newinstance,ptmxmode=0666,mode=620"),
    ):
        Path("/dev", name).mkdir()
        mount("none", f"/dev/{name}", kind, NO_SETUID | (NO_DEVICES if name == "shm" else 0), options)
    for name, target in _LINKS.items():
        Path("/dev", name).symlink_to(target)

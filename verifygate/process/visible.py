"""All that a hermetic process can read, as digests: where none of them differs, it sees what it saw before.

Files of the project count by their content, large ones and those of the system and of the interpreter by what the
kernel notes of them: no program sets the time of a file's last change (`st_ctime`) to what it was. What is left is what
no digest holds: the clock, random numbers of the system, and how busy the machine is.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import platform
import stat
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import verifygate
from verifygate.base.regular_files import MIB, read_regular
from verifygate.process.credentials import ENVIRONMENT_FILES
from verifygate.process.isolation import SYSTEM, Reach, credential_places, shown_places, unseen_places
from verifygate.process.subject import Subject

MOST_FILES = 100_000
"""Files of a project that are looked at."""
_YOUNG_SECONDS = 2.0
"""Within so much time two changes of a file may have the same time."""
_ALL_OF_IT = 1 | 2 | 4
"""`SYNC_FILE_RANGE_WAIT_BEFORE`, `_WRITE` and `_WAIT_AFTER`."""
_MACHINE = ("/proc/cpuinfo", "/proc/self/limits", "/proc/sys/vm/overcommit_memory")
_GROUPS = Path("/sys/fs/cgroup")
_OF_GROUP = ("cpu.max", "memory.max", "pids.max", "cpu.cfs_quota_us", "memory.limit_in_bytes")
"""What a control group allows, in the second and in the first version of these."""
_DEVICES = ("nvidia*", "dri/*", "kfd", "infiniband/*")
"""Devices that a confined process sees if they are there; those that are always there are left out."""
_CHANGING = ("cpu MHz", "bogomips")
"""Lines of these that differ from one moment to the next."""


@dataclass(frozen=True)
class Visible:
    """What can be read."""

    tree: Mapping[str, str]
    """Path, relative to the project's root -> what identifies its content."""
    around: Mapping[str, str]
    """The same of what is not the project's: a folder, `the machine`, `the environment`."""
    times: Mapping[str, int] = field(default_factory=dict)
    """When each file and folder of the tree last changed in any way, by the kernel, in nanoseconds."""
    unknown: str = ""
    """Why this does not say what can be read; empty where it does."""

    def changed_until(self, now: Visible) -> str:
        """The first of what changed meanwhile, in words, be it as it was again; empty where nothing did."""
        touched = (name for name, when in sorted(self.times.items()) if now.times.get(name) != when)
        return self.differs_from(now) or next((f"`{name}` was changed and put back" for name in touched), "")

    def differs_from(self, other: Visible) -> str:
        """The first of what is not the same, in words; empty where all is."""
        if self.unknown or other.unknown:
            return self.unknown or other.unknown
        for one, two in ((self.tree, other.tree), (self.around, other.around)):
            for name in sorted(one.keys() | two.keys()):
                if one.get(name) != two.get(name):
                    return f"`{name}` is not as it was"
        return ""

    def digest(self) -> str:
        """Of all of it."""
        every = (*sorted(self.around.items()), *sorted(self.tree.items()))
        return _digest([f"{name}\0{known}" for name, known in every])


def visible(subject: Subject) -> Visible:
    """What the processes of this project can read, if they are hermetic."""
    try:
        return _visible(subject)
    except _UnknownError as error:
        return Visible({}, {}, unknown=str(error))
    except OSError as error:  # somebody removes files meanwhile
        return Visible({}, {}, unknown=f"`{error.filename}` cannot be read: {error.strerror}")


def _visible(subject: Subject) -> Visible:
    """Raises _UnknownError, and OSError."""
    reach = subject.reach()
    shown = [Path(os.path.realpath(place)) for place in (*shown_places(reach), *reach.copied)]
    shown += [place for place in (*shown_places(reach), *reach.copied) if place.is_symlink()]
    files = list(_of_project(reach, shown))
    system = [Path("/", name) for name in SYSTEM]
    outside = [place for place in shown if not any(place.is_relative_to(each) for each in system)]
    around = {str(place): _digest(sorted(_noted(place))) for place in (*system, *outside)}
    around["/"] = _digest(sorted(f"{each.path}\0{_note(each.stat())}" for each in os.scandir("/") if each.is_file()))
    hidden = [Path(os.path.realpath(each)) for each in credential_places(reach) if os.path.lexists(each)]
    seen = [str(each) for each in hidden if any(map(each.is_relative_to, (reach.root, *system, *shown)))]
    around |= {"the machine": _digest(list(_machine())), "the environment": _digest(list(_environment(subject)))}
    around["what is hidden for the sake of credentials"] = _digest(sorted(seen))
    return Visible({name: known for name, known, _ in files}, around, {name: when for name, _, when in files})


class _UnknownError(Exception):
    """What can be read is not known; the message says why."""


def _of_project(reach: Reach, shown: Collection[Path]) -> Iterator[tuple[str, str, int]]:
    """Each file and folder of the project but for those that are hidden: name, identity, time of the last change."""
    root, own = reach.root, Path(verifygate.__file__).parent
    hidden = {*unseen_places(reach), *(root / name for name in ENVIRONMENT_FILES)}
    pending, number = [root], 0
    yield ".", "", root.stat().st_ctime_ns
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError as error:
            raise _UnknownError(f"`{folder.name}` cannot be read: {error.strerror}") from error
        for entry in listed:
            place, status = Path(entry.path), entry.stat(follow_symlinks=False)
            if place in hidden or (entry.name == "__pycache__" and place.is_relative_to(own)):
                continue
            name = place.relative_to(root).as_posix()
            if place in shown and entry.is_dir(follow_symlinks=False) and place != own:
                yield name, _digest(sorted(_noted(place, bytecode=not _is_of_gate(place)))), 0
                continue
            yield name, _identity(place, status), status.st_ctime_ns
            if entry.is_dir(follow_symlinks=False):
                pending.append(place)
            if (number := number + 1) > MOST_FILES:
                raise _UnknownError(f"the project's folder holds more than {MOST_FILES} files")


def _identity(place: Path, status: os.stat_result) -> str:
    """By what a file of the project is known. Raises _UnknownError."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return f"{status.st_mode} {place.readlink()}"
    if kind == stat.S_IFDIR:
        return str(status.st_mode)
    if kind != stat.S_IFREG:
        raise _UnknownError(f"`{place.name}` is a pipe, a socket or a device: others may write to it")
    if status.st_size <= MIB:
        try:
            content = read_regular(place, MIB)
        except (OSError, ValueError) as error:
            raise _UnknownError(f"`{place.name}` cannot be read: {error}") from error
        return f"{status.st_mode} {hashlib.sha256(content).hexdigest()}{_in_force(place, content)}"
    if status.st_ctime > time.time() - _YOUNG_SECONDS:
        time.sleep(_YOUNG_SECONDS)
    _written_out(place)
    if place.lstat().st_ctime_ns != status.st_ctime_ns:
        raise _UnknownError(f"`{place.name}` is changing")
    return _note(status)


def _written_out(place: Path) -> None:
    """Have what is in memory of a file written to its disk: until then, further changes by way of a mapping of it
    into somebody's memory leave its times as they are (mmap(2), `MAP_SHARED`). Not `fsync`: that waits for the disk."""
    from verifygate.process.kernel import call

    try:
        file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:  # no program reads it either
        return
    try:
        call("sync_file_range", file, ctypes.c_int64(0), ctypes.c_int64(0), _ALL_OF_IT)
    finally:
        os.close(file)


def _in_force(place: Path, content: bytes) -> str:
    """Of bytecode, whether the interpreter takes it for that of the source: by when that changed, and not by its text.

    https://docs.python.org/3/reference/import.html#cached-bytecode-invalidation
    """
    if place.suffix != ".pyc" or place.parent.name != "__pycache__":
        return ""
    try:
        source = Path(importlib.util.source_from_cache(place)).stat()
    except (OSError, ValueError):
        return ""
    return f" {content[8:12] == (int(source.st_mtime) & 0xFFFFFFFF).to_bytes(4, 'little')}"


def _is_of_gate(place: Path) -> bool:
    """Whether an environment is the gate's own: of that a confined process writes a copy."""
    return any(place.is_relative_to(os.path.realpath(prefix)) for prefix in (sys.prefix, sys.base_prefix))


def _noted(place: Path, *, bytecode: bool = False) -> Iterator[str]:
    """What the kernel notes of each file below, and the rights of each folder.

    Where nobody writes but who installs, `bytecode` follows from its source, and is left out.
    """
    if not place.is_dir():
        if place.exists():
            yield f"{place}\0{_note(place.stat())}"
        return
    pending = [str(place)]
    while pending:
        folder = pending.pop()
        is_left_out = not bytecode and folder.endswith("/__pycache__")
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                        if entry.name != "__pycache__":
                            yield f"{entry.path}\0{entry.stat(follow_symlinks=False).st_mode}"
                    elif not (is_left_out and entry.name.endswith(".pyc")):
                        yield f"{entry.path}\0{_note(entry.stat(follow_symlinks=False))}"
        except OSError as error:
            yield f"{folder}\0{error.errno}"


def _note(status: os.stat_result) -> str:
    return f"{status.st_mode} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _machine() -> Iterator[str]:
    """The machine, and the day."""
    yield repr(tuple(platform.uname()))
    yield repr(sorted(os.sched_getaffinity(0)))
    yield f"{os.sysconf('SC_PHYS_PAGES')} {os.geteuid()} {os.getegid()}"
    yield f"{time.strftime('%Y-%m-%d', time.gmtime())} {time.strftime('%Y-%m-%d %Z')}"
    yield repr(sorted(str(device) for pattern in _DEVICES for device in Path("/dev").glob(pattern)))
    for place in _MACHINE:
        yield "\n".join(line for line in _lines(place) if not line.startswith(_CHANGING))
    yield repr([line for line in _lines("/proc/self/status") if line.startswith(("Umask:", "Groups:"))])
    yield repr(list(_of_groups()))


def _of_groups() -> Iterator[list[str]]:
    """What each control group around this process allows."""
    for line in _lines("/proc/self/cgroup"):
        controllers, _, name = line.partition(":")[2].partition(":")
        top = _GROUPS / controllers
        group = top / name.lstrip("/")
        around = [each for each in (group, *group.parents) if each.is_relative_to(top)]
        yield from (_lines(str(each / limit)) for each in around for limit in _OF_GROUP)


def _lines(place: str) -> list[str]:
    """Of a file of the kernel; none where it has no such file."""
    try:
        return read_regular(place, MIB).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return []


def _environment(subject: Subject) -> Iterator[str]:
    """How its processes are started."""
    yield f"{subject.root}\0{subject.interpreter}\0{subject.isolation}\0{subject.passed_on}\0{Path.home()}"
    yield from (f"{name}={value}" for name, value in sorted(subject.inherited().items()))


def _digest(lines: Collection[str]) -> str:
    whole = hashlib.sha256()
    for line in lines:
        data = line.encode("utf-8", "surrogateescape")
        whole.update(b"%d\0%s" % (len(data), data))
    return whole.hexdigest()

"""Give up rights, then become another program. Started by its path, with nothing but the standard library.

Arguments: the orders as JSON, and the command. The orders:

write   folders in which files are changed for good
share   the same, also where the folders around them are covered
cover   folders of which the program must have a private copy
store   where the private copies go
hide    what is to be empty
offline whether there is to be no network
apart   whether namespaces are asked for: where they are granted in part only, the program is better off without
needed  the layers without which it refuses
tell    the descriptor on which it says which layers hold, and `errno` where the command could not be started
parent  who started it

Each layer is tried by itself: `isolation.LAYERS` says what they are.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x40000000
_OWN = _NEW_USER | _NEW_MOUNTS | _NEW_IPC
_MOUNT_READ_ONLY, _MOUNT_BIND, _MOUNT_REC, _MOUNT_PRIVATE = 1, 4096, 16384, 1 << 18
_SET_PDEATHSIG, _SET_NO_NEW_PRIVILEGES = 1, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GET_INTERFACE_FLAGS, _SET_INTERFACE_FLAGS, _UP = 0x8913, 0x8914, 1
_WRITES = 0b1111111110010
"""Landlock's rights to write, remove and make, of its first version."""
_OF_FILES = 1 << 1 | 1 << 14
_OF_KERNEL = ("proc", "sys", "dev", "run")
"""Folders in the root that hold no files of a disk."""
_OF_EVERYBODY = ("/tmp", "/var/tmp")  # noqa: S108 - not to be written, but to be covered
"""Folders of root in which everybody writes. Inside a copy of the folder around it the kernel refuses that."""
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> int:
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def _new_namespaces() -> None:
    """Own mounts and message queues; the same users and groups as before, as far as that may be asked for."""
    if os.geteuid() == 0:  # root also works on files of others
        _unshare_as_root()
    else:
        user, group = os.getuid(), os.getgid()
        _call("unshare", _OWN)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    _call("mount", None, b"/", None, _MOUNT_REC | _MOUNT_PRIVATE, None)


def _unshare_as_root() -> None:
    """All users and groups that there are stay what they are. Only a process that stays behind may say so."""
    maps = {}
    for name in ("uid_map", "gid_map"):
        ranges = (line.split() for line in Path(f"/proc/self/{name}").read_text(encoding="ascii").splitlines())
        maps[name] = "".join(f"{first} {first} {count}\n" for first, _, count in ranges)
    process, (go, ready) = os.getpid(), os.pipe()
    helper = os.fork()
    if helper == 0:
        with contextlib.suppress(OSError):
            os.close(ready)
            if os.read(go, 1):
                for name, text in maps.items():
                    Path(f"/proc/{process}/{name}").write_text(text, encoding="ascii")
                os._exit(0)
        os._exit(1)
    os.close(go)
    try:
        _call("unshare", _OWN)
        os.write(ready, b"1")
    finally:
        os.close(ready)
        _, status = os.waitpid(helper, 0)
    if status:
        raise OSError(status, "the users could not be mapped")


def _new_network() -> None:
    """A network with nothing but loopback."""
    _call("unshare", _NEW_NETWORK)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        answer = fcntl.ioctl(loopback, _GET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", answer)[1] | _UP
        fcntl.ioctl(loopback, _SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", flags))


def _hide(places: Sequence[str]) -> None:
    """Cover each folder with an empty one, and each file with an empty file."""
    for place in places:
        if _is_folder(place):
            _call("mount", b"none", os.fsencode(place), b"tmpfs", _MOUNT_READ_ONLY, None)
        elif os.path.exists(place):  # noqa: PTH110
            _call("mount", b"/dev/null", os.fsencode(place), None, _MOUNT_BIND, None)


def _is_folder(place: str) -> bool:
    """Also where it cannot be reached: then it is none for the program."""
    return os.path.isdir(place)  # noqa: PTH112


def _cover(wanted: Sequence[str], store: Path, real: Sequence[str], shared: Sequence[str]) -> list[str]:
    """The folders that are covered with private copies: they show what is there, and keep what is written in `store`.

    Beside the wanted folders each folder of the machine is tried, the outer ones first, but for those around one that
    is to be `real`. The kernel refuses where another file system is mounted inside.
    """
    kept = {os.path.realpath(place): os.open(place, os.O_PATH | os.O_CLOEXEC) for place in shared if _is_folder(place)}
    here, covered = Path.cwd(), list[Path]()
    for number, place in enumerate(_candidates(wanted)):
        is_covered = any(place.is_relative_to(outer) for outer in covered) and str(place) not in _OF_EVERYBODY
        is_real = any(_is_below(each, place) for each in real) or any(place.is_relative_to(each) for each in kept)
        if is_covered or is_real:
            continue
        with contextlib.suppress(OSError):
            _overlay(place, store / str(number))
            covered.append(place)
    for name, descriptor in kept.items():
        if any(Path(name).is_relative_to(outer) for outer in covered):
            source = f"/proc/self/fd/{descriptor}".encode()
            _call("mount", source, os.fsencode(name), None, _MOUNT_BIND | _MOUNT_REC, None)
        os.close(descriptor)
    os.chdir(here)  # the folder of that name is another one now
    return [str(place) for place in covered]


def _candidates(wanted: Sequence[str]) -> list[Path]:
    """Folders to cover, outer ones first: those that are wanted, those in the root, and where something is mounted."""
    mounts = (line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
    mounted = (fields[4].encode().decode("unicode_escape") for fields in mounts if "rw" in fields[5].split(","))
    top = (entry.path for entry in os.scandir("/") if entry.is_dir(follow_symlinks=False))
    found = {Path(name) for name in (*(os.path.realpath(each) for each in wanted), *top, *mounted, *_OF_EVERYBODY)}
    return sorted((place for place in found if place.parts[1:2] and place.parts[1] not in _OF_KERNEL), key=_depth)


def _depth(place: Path) -> tuple[int, str]:
    return len(place.parts), str(place)


def _overlay(place: Path, store: Path) -> None:
    """Cover a folder with an overlay of it, whose changes are kept in `store`."""
    upper, work = store / "upper", store / "work"
    upper.mkdir(parents=True, exist_ok=True)
    work.mkdir(exist_ok=True)
    upper.chmod(stat.S_IMODE(place.stat().st_mode))
    layers = {"lowerdir": place, "upperdir": upper, "workdir": work}
    opened = {name: os.open(path, os.O_PATH | os.O_CLOEXEC) for name, path in layers.items()}
    options = ",".join(f"{name}=/proc/self/fd/{descriptor}" for name, descriptor in opened.items())
    try:
        _call("mount", b"overlay", os.fsencode(place), b"overlay", 0, f"{options},userxattr,volatile".encode())
    finally:
        for descriptor in opened.values():
            os.close(descriptor)


def _landlock(writable: Sequence[str]) -> int:
    """Change files below `writable` only; reach no process outside by ptrace or, from version 6 on, by a signal."""
    version = _call("syscall", _CREATE_RULESET, None, 0, 1)
    handled = _WRITES | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    wanted = struct.pack("QQQ", handled, 0, 3 if version >= 6 else 0)[: 24 if version >= 6 else 8]
    ruleset = _call("syscall", _CREATE_RULESET, wanted, len(wanted), 0)
    for path in writable:
        with contextlib.suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights = handled if stat.S_ISDIR(os.fstat(place).st_mode) else handled & _OF_FILES
            _call("syscall", _ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, place), 0)
            os.close(place)
    _call("prctl", _SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call("syscall", _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return version


def _give_up(orders: dict[str, Any]) -> list[str]:
    """The names of the layers that hold afterwards."""
    held: list[str] = []
    covered: list[str] = []
    if orders["apart"]:
        with contextlib.suppress(OSError, AttributeError):
            _new_namespaces()
            if orders["offline"]:
                _new_network()
                held.append("network")
            covered = _cover(orders["cover"], Path(orders["store"]), orders["write"], orders["share"])
            _hide(orders["hide"])
            held.append("secrets")
    writable = [*covered, *orders["write"], *orders["share"]]
    is_private = all(any(_is_below(each, outer) for outer in writable) for each in orders["cover"])
    with contextlib.suppress(OSError, AttributeError):
        version = _landlock(writable if is_private else ["/"])
        held += [*(["files"] if is_private else []), "processes", *(["signals"] if version >= 6 else [])]
    if "processes" not in held:  # with the rights of its namespace it could uncover what is covered and hidden
        return [name for name in held if name == "network"]
    return held


def _is_below(path: str, outer: str | Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(outer))


def main() -> None:
    orders, command = json.loads(sys.argv[1]), sys.argv[2:]
    _call("prctl", _SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != orders["parent"]:  # it died before this could be asked for
        os._exit(1)
    held = _give_up(orders)
    if missing := sorted(set(orders["needed"]) - set(held)):
        os.write(orders["tell"], json.dumps({"held": held, "missing": missing}).encode())
        os._exit(1)
    os.write(orders["tell"], json.dumps({"held": held}).encode() + b"\n")
    os.set_inheritable(orders["tell"], False)
    try:
        os.execv(command[0], command)  # noqa: S606 — no shell is wanted
    except OSError as error:
        os.write(orders["tell"], json.dumps({"held": held, "errno": error.errno}).encode())
        os._exit(1)


if __name__ == "__main__":
    main()

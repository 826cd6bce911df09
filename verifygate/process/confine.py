"""Give up rights, then become another program. Started by its path, with nothing but the standard library.

Arguments: the orders as JSON, and the command. Orders: `write`, the folders in which files may be changed; `hide`, what
is to be empty; `tell`, the descriptor on which it says which layers hold (and `errno`, where the command could not be
started); `parent`, who started it; `needed`, the layers without which it refuses. Each layer is tried by itself:
`isolation.LAYERS` says what they are.
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
_MOUNT_READ_ONLY, _MOUNT_BIND, _MOUNT_REC, _MOUNT_PRIVATE = 1, 4096, 16384, 1 << 18
_SET_PDEATHSIG, _SET_NO_NEW_PRIVILEGES = 1, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GET_INTERFACE_FLAGS, _SET_INTERFACE_FLAGS, _UP = 0x8913, 0x8914, 1
_WRITES = 0b1111111110010
"""Landlock's rights to write, remove and make, of its first version."""
_OF_FILES = 1 << 1 | 1 << 14
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> int:
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def _new_namespaces() -> None:
    """Own network with nothing but loopback, own mounts and message queues; the same user and group as before."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", _NEW_USER | _NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        answer = fcntl.ioctl(loopback, _GET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", answer)[1] | _UP
        fcntl.ioctl(loopback, _SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", flags))


def _hide(places: Sequence[str]) -> None:
    """Cover each folder with an empty one, and each file with an empty file."""
    _call("mount", None, b"/", None, _MOUNT_REC | _MOUNT_PRIVATE, None)
    for place in places:
        if Path(place).is_dir():
            _call("mount", b"none", os.fsencode(place), b"tmpfs", _MOUNT_READ_ONLY, None)
        elif Path(place).exists():
            _call("mount", b"/dev/null", os.fsencode(place), None, _MOUNT_BIND, None)


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
    with contextlib.suppress(OSError, AttributeError):
        _new_namespaces()
        held.append("network")
        _hide(orders["hide"])
        held.append("secrets")
    with contextlib.suppress(OSError, AttributeError):
        version = _landlock(orders["write"])
        held += ["files", *(["signals"] if version >= 6 else [])]
    if "files" not in held and "secrets" in held:  # with the rights of its namespace it could uncover them
        held.remove("secrets")
    return held


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

"""Own namespaces, own folders, fewer rights; then another program: what `confine.py` starts. Linux only."""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import json
import os
import resource
import signal
import struct
import sys
from pathlib import Path

from verifygate.process.kernel import (
    NO_DEVICES,
    NO_PROGRAMS,
    NO_SETUID,
    PRIVATE,
    RECURSIVE,
    SET_DEATH_SIGNAL,
    call,
    mount,
)
from verifygate.process.own_folders import Folders, hide, is_socket, own_devices, real, sockets, within
from verifygate.process.rights import drop_rights, filter_calls, landlock

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module that knows takes longer to load than all others
    from typing import Any, NoReturn

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_IDS, _NEW_NETWORK = 0x20000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
_OWN = _NEW_USER | _NEW_MOUNTS | _NEW_IPC
_GET_INTERFACE_FLAGS, _SET_INTERFACE_FLAGS, _UP = 0x8913, 0x8914, 1
_NAME_SERVICES = ("/nscd/", "/sss/", "/systemd/resolve/", "io.systemd.")
"""Parts of the addresses at which the system's names of users and hosts are asked for."""


def _new_namespaces() -> None:
    """Own mounts and message queues; the same users and groups as before, as far as that may be asked for."""
    if os.geteuid() == 0:  # root also works on files of others
        _unshare_as_root()
    else:
        user, group = os.getuid(), os.getgid()
        call("unshare", _OWN)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    call("mount", None, b"/", None, RECURSIVE | PRIVATE, None)


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
        call("unshare", _OWN)
        os.write(ready, b"1")
    finally:
        os.close(ready)
        _, status = os.waitpid(helper, 0)
    if status:
        raise OSError(status, "the users could not be mapped")


def _new_network() -> None:
    """A network with nothing but loopback."""
    call("unshare", _NEW_NETWORK)
    loopback = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)  # `socket` takes longer to load
    answer = fcntl.ioctl(loopback.fileno(), _GET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", 0))
    flags = struct.unpack("16sH14x", answer)[1] | _UP
    fcntl.ioctl(loopback.fileno(), _SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", flags))
    loopback.close()


def _with_new_ids(orders: dict[str, Any]) -> None:
    """Go on as a process with new ids. The one that called stays outside, and ends as this one does.

    The first process of new ids buries what loses its parent. All others end with it, and it ends with the gate.
    """
    call("unshare", _NEW_IDS)
    keeper = os.fork()
    if keeper == 0:
        os.close(orders["tell"])
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them then
        os.read(orders["alive"], 1)
        os._exit(0)
    os.close(orders["alive"])
    program = os.fork()
    if program:
        _tell(orders, {"keeper": keeper, "program": program})
        os.close(orders["tell"])
        _end_as(os.waitpid(program, 0)[1])
    call("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.setsid()  # its group and session have numbers of its own, too


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _namespaces(orders: dict[str, Any]) -> set[str]:
    """What there is of one's own: `mounts`, `network`, `ids`."""
    own: set[str] = set()
    with contextlib.suppress(OSError, AttributeError):
        _new_namespaces()
        own.add("mounts")
        if orders["required"]:
            _new_network()
            own.add("network")
        if orders["ids"]:
            _with_new_ids(orders)
            mount("proc", "/proc", b"proc", NO_SETUID | NO_DEVICES | NO_PROGRAMS)
            own.add("ids")
    return own


def _give_up(orders: dict[str, Any]) -> list[str]:
    """The names of the layers that hold afterwards."""
    listening = sockets() if orders["apart"] else []
    own = _namespaces(orders) if orders["apart"] else set[str]()
    held: list[str] = [name for name in ("ids", "network") if name in own]
    folders, is_rebuilt, version = Folders(orders), False, 0
    with contextlib.suppress(OSError, AttributeError):
        if "mounts" in own:
            folders.build(orders)
            for place, text in orders["replace"].items():
                folders.replace(place, text)
            hide(orders["hide"])
            hide(place for place in listening if _is_to_be_hidden(place, orders))
            own_devices()
            is_rebuilt = True
    is_private = is_rebuilt and all(within(place, folders.writable) for place in real(orders["cover"]))
    with contextlib.suppress(OSError, AttributeError, KeyError):
        if is_rebuilt:
            drop_rights()
        version = landlock(map(str, folders.writable) if is_private else ["/"])
        held += ["processes", *(["signals"] if version >= 6 else [])]
        if is_rebuilt:
            filter_calls(required=orders["required"])
            held += ["secrets", *(["files"] if is_private else [])]
            held += ["gate"] if all(map(folders.keeps, folders.guard)) else []
            held += ["sockets"] if version >= 6 or "network" in own else []
    if "processes" not in held:  # with the rights of its namespace it could uncover what is covered and hidden
        return [name for name in held if name in ("ids", "network")]
    return held


def _is_to_be_hidden(place: str, orders: dict[str, Any]) -> bool:
    """Not the gate's own sockets; names may be asked for, unless isolation is required."""
    if any(Path(place).is_relative_to(each) for each in orders["answers"]):
        return False
    return is_socket(place) and (orders["required"] or not any(part in place for part in _NAME_SERVICES))


def _tell(orders: dict[str, Any], what: dict[str, Any]) -> None:
    os.write(orders["tell"], json.dumps(what).encode() + b"\n")


def main() -> None:
    orders, command = json.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2:]
    call("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != orders["parent"]:  # it died before this could be asked for
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held = _give_up(orders)
    if missing := sorted(set(orders["needed"]) - set(held)):
        _tell(orders, {"held": held, "missing": missing})
        os._exit(1)
    _tell(orders, {"held": held})
    os.set_inheritable(orders["tell"], False)
    for kind, most in orders["limits"].items():
        with contextlib.suppress(OSError, ValueError):  # a stricter limit stands
            resource.setrlimit(int(kind), (most, most))
    try:
        os.execv(command[0], command)  # noqa: S606 — no shell is wanted
    except OSError as error:
        _tell(orders, {"errno": error.errno})
        os._exit(1)

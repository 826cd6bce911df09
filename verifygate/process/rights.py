"""The rights that a confined process gives up for good: Landlock, capabilities, calls of the system. Linux only."""

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from verifygate.process.kernel import DROP_BOUNDING, SET_NO_NEW_PRIVILEGES, SET_SECCOMP, call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WRITES = 0b1111111110010
"""Landlock's rights to write, remove and make, of its first version."""
_OF_FILES = 1 << 1 | 1 << 14
_KEPT_RIGHTS = (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 18, 23, 24, 29)
"""Numbers of the capabilities that root keeps: those on files and processes, none on mounts or devices."""
_MACHINES = {"x86_64": (0xC000003E, 250), "aarch64": (0xC00000B7, 219)}
"""What seccomp calls a machine, and its number of `keyctl`."""
_MODES = {
    "x86_64": ((90, 1), (91, 1), (268, 2), (452, 2), (85, 1), (133, 1), (259, 2), (2, 2, 1), (257, 3, 2)),
    "aarch64": ((52, 1), (53, 2), (452, 2), (33, 2), (56, 3, 2)),
}
"""System calls that give a file its mode: the number, which argument that is, and which says that a file is made."""
_SPECIAL = {"x86_64": ((133, 1), (259, 2)), "aarch64": ((33, 2),)}
"""System calls that make special files: the number, and which argument says of which kind."""
_SPECIAL_KINDS = (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK)
_ANSWERS = (0x7FFF0000, 0x00050001, 0x00050026)
"""What seccomp answers: go on, EPERM, ENOSYS."""
_PAST_FILTERS = (425, 437)
"""`io_uring_setup` and `openat2`: what they do cannot be read from their arguments. Programs do without."""


def drop_rights() -> None:
    """Nothing that the program becomes may move mounts, and it has no keys of the session that it was started in."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text(encoding="ascii"))
    for number in set(range(last + 1)).difference(_KEPT_RIGHTS):
        call("prctl", DROP_BOUNDING, number, 0, 0, 0)
    call("syscall", _MACHINES[os.uname().machine][1], 1, None)


def filter_calls(*, required: bool) -> None:
    """No file is made that runs as somebody else; where isolation is required, no pipe or device is made by name."""
    machine = os.uname().machine
    load, equal, allow, refuse, unknown = 0x20, 0x15, *((0x06, 0, 0, each) for each in _ANSWERS)
    program = [(load, 0, 0, 4), (equal, 1, 0, _MACHINES[machine][0]), unknown, (load, 0, 0, 0)]
    if machine == "x86_64":  # its second set of numbers
        program += [(0x35, 0, 1, 0x40000000), unknown]
    for number in _PAST_FILTERS:
        program += [(equal, 0, 1, number), unknown]
    for number, kind in _SPECIAL[machine] if required else ():
        kinds = [(equal, 2 - at, int(at == 2), each) for at, each in enumerate(_SPECIAL_KINDS)]
        block = [(load, 0, 0, 16 + 8 * kind), (0x54, 0, 0, 0o170000), *kinds, refuse, (load, 0, 0, 0)]
        program += [(equal, 0, len(block), number), *block]
    for number, mode, *makes in _MODES[machine]:
        block = [(load, 0, 0, 16 + 8 * mode), (0x45, 0, 1, stat.S_ISUID), refuse, allow]
        if makes:
            block = [(load, 0, 0, 16 + 8 * makes[0]), (0x45, 1, 0, os.O_CREAT | 0o20000000), allow, *block]
        program += [(equal, 0, len(block), number), *block]
    program.append(allow)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
    call("prctl", SET_SECCOMP, 2, struct.pack("@HP", len(program), ctypes.addressof(code)), 0, 0)


def landlock(writable: Iterable[str]) -> int:
    """Change files below `writable` only; reach no process outside by ptrace or, from version 6 on, by a signal."""
    version = call("syscall", _CREATE_RULESET, None, 0, 1)
    handled = _WRITES | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    wanted = struct.pack("QQQ", handled, 0, 3 if version >= 6 else 0)[: 24 if version >= 6 else 8]
    ruleset = call("syscall", _CREATE_RULESET, wanted, len(wanted), 0)
    for path in writable:
        with contextlib.suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights = handled if stat.S_ISDIR(os.fstat(place).st_mode) else handled & _OF_FILES
            call("syscall", _ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, place), 0)
            os.close(place)
    call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("syscall", _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return version

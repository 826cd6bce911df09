"""Seal a forked process: what it does reaches nothing and nobody but the descriptor that it answers by.

Open files are opened anew, to be read only, so that the parent's place in them stays; pipes, sockets and terminals
become `/dev/null`. Memory that is shared with other processes can be read only. A filter of the kernel's refuses to
open files for writing, to make, rename or remove any, to reach the network, to start processes and to send signals.
Linux only; where a part of it cannot be had, the process ends.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import resource
import signal
import stat
import struct
from pathlib import Path

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _HAS_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_THREAD = 0x10000
"""The flag of `clone` that makes a thread, and no process."""

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "creat": (85, None),
    "truncate": (76, 45),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utimensat": (280, 88),
    "socket": (41, 198),
    "connect": (42, 203),
    "kill": (62, 129),
    "tkill": (200, 130),
    "pidfd_send_signal": (424, 424),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "shmget": (29, 194),
    "io_uring_setup": (425, 425),
    "openat2": (437, 437),
    "clone3": (435, 435),
}
"""Numbers of the calls, on x86_64 and on aarch64. The C library does without the last two, where they are missing."""
_FLAGGED = {"open": (2, None, 1), "openat": (257, 56, 2), "clone": (56, 220, 0)}
"""The same of calls that are refused by their flags, and which argument these are."""


def can_be_sealed() -> bool:
    """Whether this machine has what it takes."""
    return os.name == "posix" and platform.machine() in _ARCHITECTURES and Path("/proc/self/fd").is_dir()


def seal(kept: int, seconds: int) -> None:
    """Seal this process, but for one descriptor, and have it end after some seconds. Raises OSError."""
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _keep_shared_memory_as_it_is()
    _close(kept)
    _filter()


def _close(kept: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - a path would open more of them
        number = int(name)
        if number in (kept, nothing):
            continue
        try:
            if stat.S_ISREG(os.fstat(number).st_mode):
                _read_apart(number)
            else:
                os.dup2(nothing, number)
        except OSError:  # the descriptor of the listing, or a file that is gone
            if number != kept:
                os.dup2(nothing, number)


def _read_apart(number: int) -> None:
    """The same file at the same place, for reading, and with a place of its own."""
    again = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
    os.lseek(again, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
    os.dup2(again, number)
    os.close(again)


def _keep_shared_memory_as_it_is() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    for line in Path("/proc/self/maps").read_text(encoding="ascii", errors="replace").splitlines():
        span, rights = line.split()[:2]
        if rights.startswith("rw") and rights.endswith("s"):
            begin, end = (int(each, 16) for each in span.split("-"))
            if library.mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.PROT_READ):
                raise OSError(ctypes.get_errno(), "mprotect")


def _filter() -> None:
    code, column = _ARCHITECTURES[platform.machine()]
    refuse, missing = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
    program = [_step(_LOAD, 4), _step(_EQUAL, code, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    for name, numbers in _DENIED.items():
        if (number := numbers[column]) is not None:
            answer = missing if name in ("openat2", "clone3") else refuse
            program += [_step(_EQUAL, number, 0, 1), _step(_RETURN, answer)]
    for name, entry in _FLAGGED.items():
        if (number := entry[column]) is not None:
            of_flags = _step(_HAS_BIT, _THREAD, 1, 0) if name == "clone" else _step(_HAS_BIT, _WRITING, 0, 1)
            argument = 16 + 8 * int(entry[2] or 0)
            program += [_step(_EQUAL, number, 0, 4), _step(_LOAD, argument), of_flags]
            program += [_step(_RETURN, refuse), _step(_RETURN, _ALLOW)]
    program.append(_step(_RETURN, _ALLOW))
    steps = ctypes.create_string_buffer(b"".join(program))
    given = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(steps)))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SECCOMP, _FILTER, given, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction of the filter's."""
    return struct.pack("HBBI", code, if_true, if_false, value)

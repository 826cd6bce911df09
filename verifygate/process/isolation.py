"""How far a process of the project is kept away from the machine: which layers the kernel grants, and what they are.

The work is done by `confine.py`, which becomes the project's interpreter; here are the orders for it, and the words.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import verifygate
from verifygate.base.cache_folder import cache_folder
from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import MIB, read_regular
from verifygate.process.credentials import ENVIRONMENT_FILES, hidden, without_credentials
from verifygate.process.trusted import outermost, trusted_places
from verifygate.sources.git_state import git_folders

CONFINE = Path(__file__).with_name("confine.py")
LAYERS = {
    "files": ("private copies of files outside of the project", "files outside of the project"),
    "gate": ("the gate's own files and git's kept from change", "the gate's own files and git's"),
    "secrets": ("credentials hidden", "credentials"),
    "sockets": ("no sockets of others", "sockets of others"),
    "ids": ("own process ids", "process ids of others"),
    "processes": ("no tracing of others", "the memory of other processes"),
    "signals": ("no signals to others", "signals to others"),
    "network": ("no network", "the network"),
}
"""What each layer means in words, and what is open without it. `processes` and `signals` are Landlock, the others
namespaces of the kernel."""
UNDOING = ("gate", "sockets", "processes")
"""What is open without one of these leads to a process that is not confined at all."""
BROKERS = (
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/user",
    "/run/dbus",
    "/run/systemd/private",
)
"""Places where somebody listens who starts programs for others: those of a container's host cannot be found."""
DOWNLOADS = (".cache/huggingface", ".cache/torch", ".cache/kagglehub", ".keras", "nltk_data", "scikit_learn_data")
"""Places below the home folder where what a test downloads is found by the next one."""
_FIRST_PERSON = 1000
"""The first user id that is a person's."""
MOST_BYTES = 64 * 1024**3
"""The size that a file may grow to where isolation is required and no limit is configured."""


class Isolation(StrEnum):
    """How much isolation is asked for."""

    OFF = "off"
    AUTO = "auto"
    REQUIRED = "required"
    HERMETIC = "hermetic"
    """As `required`, and outside of the project there is nothing but the system and the interpreter: all that a
    process can read is known (`visible.py`)."""

    @property
    def is_whole(self) -> bool:
        """Whether every layer has to hold."""
        return self in (Isolation.REQUIRED, Isolation.HERMETIC)


SYSTEM = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
"""Folders in the root that hold the system's own programs, in the Filesystem Hierarchy Standard."""
_KERNEL = ("dev", "proc", "run", "sys")
TOOL_CACHES = (".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache")
"""Folders in a project that its tools write and its programs do not read."""
_STORES = ("/gnu/store", "/nix/store")
"""Where other systems have theirs."""


class IsolationError(OSError):
    """Isolation is required, and not all of its layers hold."""


@dataclass(frozen=True)
class Reach:
    """The places that a confined process gets to."""

    root: Path
    written: tuple[Path, ...] = ()
    """Folders that it changes for good, beside the root."""
    answers: tuple[Path, ...] = ()
    """The same, and the gate reads there or listens."""
    copied: tuple[Path, ...] = ()
    """Folders of which it is to have copies, whatever is around them."""
    shown: tuple[Path, ...] = ()
    """What it needs to see, also where the folder around it is replaced by an empty one."""
    guarded: tuple[Path, ...] = ()
    """What it must not change, beside what the gate trusts."""
    passed_on: tuple[str, ...] = ()
    """Environment variables that somebody gives it."""


@dataclass(frozen=True)
class Started:
    """What `confine.py` told of a start."""

    held: tuple[str, ...] = ()
    """The layers that hold."""
    keeper: int = 0
    """The first of the process ids of its own, that of no process of the project."""
    program: int = 0
    """The program itself, where it is another process than the one that was started."""


@dataclass(frozen=True)
class Confinement:
    """One start of a program through `confine.py`."""

    prefix: tuple[str, ...]
    """What goes in front of the command."""
    pass_fds: tuple[int, ...]
    _answer: int
    _alive: int

    def started(self) -> Started:
        """What was told; to be asked once, after the start.

        Raises OSError where the command could not be started, IsolationError where a layer that is needed is missing.
        """
        for each in self.pass_fds:
            os.close(each)
        with os.fdopen(self._answer, "rb") as file:
            lines = [json.loads(line) for line in file.read().splitlines()]
        told: dict[str, Any] = {name: value for line in lines for name, value in line.items()}
        if missing := told.get("missing"):
            raise IsolationError(0, f"isolation is required, and the kernel does not grant: {', '.join(missing)}")
        if number := told.get("errno"):
            raise OSError(number, os.strerror(number))
        return Started(tuple(told.get("held", ())), told.get("keeper", 0), told.get("program", 0))

    def over(self) -> None:
        """Let go of it: what lives of its processes ends."""
        os.close(self._alive)


def isolation_of(setting: str) -> Isolation:
    """What `[execution] isolation` asks for. Where nothing is set, nobody is kept from an accelerator: what isolation
    does to one is not measured."""
    return Isolation(setting or (Isolation.OFF if has_accelerator() else Isolation.AUTO))


def has_accelerator() -> bool:
    return any(Path(place).exists() for place in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/kfd", "/dev/accel"))


def confinement(
    wanted: Isolation,
    reach: Reach,
    store: Path,
    *,
    granted: Sequence[str] = tuple(LAYERS),
    limits: Mapping[int, int] | None = None,
    needed: Sequence[str] = (),
) -> Confinement:
    """What starts a program that changes the folders of its reach, and elsewhere private copies, kept in `store`.

    With `required` it has no network, an empty temporary folder, and shares no download cache; if it is hermetic, every
    folder but the system's is empty. Layers that are not `granted` are not tried. Without the layers that are `needed`
    it does not start.
    """
    (answer, tell), (wait, alive) = os.pipe(), os.pipe()
    home, temporary = Path.home(), tempfile.gettempdir()
    is_required, is_hermetic = wanted.is_whole, wanted is Isolation.HERMETIC
    downloads = [] if is_required else [home / name for name in DOWNLOADS]
    whole = (Path(sys.prefix), Path(sys.base_prefix), *reach.guarded)
    beside = [place for place in whole if not reach.root.is_relative_to(place)]
    orders = {
        "tell": tell,
        "alive": wait,
        "parent": os.getpid(),
        "needed": list(needed),
        "required": is_required,
        "apart": "secrets" in granted,
        "ids": "ids" in granted,
        "limits": limits or {},
        "own": _text(*_emptied(wanted)),
        "cover": _text(*([] if is_hermetic else [home]), *([] if is_required else [temporary]), *reach.copied),
        "store": str(store),
        "share": _text(reach.root, *reach.written, *reach.answers, *downloads),
        "answers": _text(*reach.answers),
        "guard": _text(*outermost((*trusted_places(reach.root), *beside))),
        "show": _text(
            *(shown_places(reach) if is_hermetic else outermost((*trusted_places(reach.root), *reach.shown)))
        ),
        "hide": [
            *credential_places(reach),
            *BROKERS,
            *_text(*(_in_tree(reach.root) if is_required else []), *(unseen_places(reach) if is_hermetic else [])),
        ],
        "replace": without_credentials(git_folders(reach.root)),
    }
    store.mkdir(parents=True, exist_ok=True)
    file = store / "orders.json"
    file.write_text(json.dumps(orders), encoding="utf-8")
    return Confinement((sys.executable, "-I", "-S", str(CONFINE), str(file)), (tell, wait), answer, alive)


def _emptied(wanted: Isolation) -> list[Path]:
    """Folders that are replaced by empty ones."""
    if not wanted.is_whole:
        return []
    others: list[Path] = []
    if wanted is Isolation.HERMETIC:
        top = (Path(entry.path) for entry in os.scandir("/") if entry.is_dir(follow_symlinks=False))
        others = [place for place in top if place.name not in (*SYSTEM, *_KERNEL)]
    return [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), *others]  # noqa: S108 — not to be written


def shown_places(reach: Reach) -> list[Path]:
    """What a hermetic process sees outside of the project and the system: interpreters, and the gate's own code."""
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    places = dict.fromkeys((*map(Path, prefixes), Path(verifygate.__file__).parent, *reach.shown))
    places |= dict.fromkeys([linked for each in tuple(places) for linked in _linked(each)])
    around = (reach.root, reach.root.resolve(), Path.home())
    return outermost(each for each in places if not any(place.is_relative_to(each) for place in around))


def _linked(environment: Path) -> Iterator[Path]:
    """Folders that the path files of an environment name: packages that are installed to be edited."""
    for file in environment.glob("lib*/python3*/site-packages/*.pth"):
        with contextlib.suppress(OSError, ValueError):
            lines = read_regular(file, MIB).decode().splitlines()
            yield from (Path(line) for line in lines if line.startswith("/") and Path(line).is_dir())


def unseen_places(reach: Reach) -> list[Path]:
    """What a hermetic process does not see: git's folders, earlier reports, caches of tools, kept answers."""
    reports = [each for each in reach.guarded if not any(each in other.parents for other in reach.guarded)]
    caches = (reach.root / name for name in TOOL_CACHES)
    own = (*reports, *caches, *git_folders(reach.root), *filter(None, [cache_folder()]))
    return [each for each in own if not reach.root.is_relative_to(each)]


def credential_places(reach: Reach) -> tuple[str, ...]:
    """Where credentials may lie, in the home folders and where variables of the environment say: that is hidden."""
    return hidden(_homes(), os.environ, reach.root, passed_on=reach.passed_on)


def can_be_hermetic() -> bool:
    """Whether the system's programs are where `SYSTEM` says."""
    return not any(Path(place).exists() for place in _STORES)


def _text(*places: Path | str) -> list[str]:
    return [str(place) for place in places]


def _in_tree(root: Path) -> list[Path]:
    return [root / name for name in ENVIRONMENT_FILES]


def _homes() -> list[Path]:
    """The home folder; root reads in those of others, too."""
    people = [each for each in pwd.getpwall() if each.pw_uid == 0 or each.pw_uid >= _FIRST_PERSON]
    others = [Path(each.pw_dir) for each in people] if os.geteuid() == 0 else []
    return list(dict.fromkeys([Path.home(), *(place for place in others if place.parts[1:] and place.is_dir())]))


@functools.cache
def granted(wanted: Isolation, reach: Reach) -> tuple[str, ...]:
    """The layers that this machine grants to a project, tried on a process that does nothing."""
    if sys.platform != "linux" or wanted is Isolation.OFF:
        return ()
    with temporary_folder() as store:
        start = confinement(wanted, reach, Path(store, "private"))
        command = [*start.prefix, sys.executable, "-I", "-S", "-c", ""]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=start.pass_fds):
            try:
                told = start.started()
            finally:
                start.over()
        bury(told.keeper)
        return told.held


def bury(keeper: int, program: int = 0) -> None:
    """Wait for the end of the first of some process ids, which all others end before: it falls to the gate.

    So does the program whose starter was killed. The first one cannot go before somebody has waited for that.
    """
    for process in filter(None, (program, keeper)):
        with contextlib.suppress(OSError):  # where it does not fall to the gate, somebody else waits
            os.waitpid(process, 0)


def in_words(wanted: Isolation, held: Sequence[str]) -> str:
    """What holds, what is open, and what is missing, as one sentence for a report.

    What a way through something that is open undoes is not said to hold.
    """
    if wanted is Isolation.OFF:
        return "none: what it does to an accelerator is not measured (`--isolation auto` asks for it)"
    asked = [name for name in LAYERS if name != "network" or wanted.is_whole]
    missing = [name for name in asked if name not in held]
    ways = [LAYERS[name][1] for name in UNDOING if name in missing]
    holding = [name for name in asked if name in held]
    told = [LAYERS[name][0] for name in holding if not ways]
    told += ["nothing seen but the project, its interpreter and the system"] if wanted is Isolation.HERMETIC else []
    text = ", ".join(told) or "nothing for certain"
    text += "; open: the project's own folder"
    text += "" if wanted.is_whole else ", download caches, network (policy)"
    text += "".join(f", {LAYERS[name][1]}" for name in missing)
    if missing:
        text += f"; not granted by this machine: {', '.join(missing)}"
    if ways and holding:
        text += f"; granted, but undone by a way through {' or '.join(ways)}: {', '.join(holding)}"
    return text

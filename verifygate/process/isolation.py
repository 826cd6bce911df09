"""How far a process of the project is kept away from the machine: which layers the kernel grants, and what they are.

The work is done by `confine.py`, which becomes the project's interpreter; here stands what it is told and what it says.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from verifygate.base.lifeline import temporary_folder

CONFINE = Path(__file__).with_name("confine.py")
LAYERS = {
    "files": "private copies of files outside of the project",
    "secrets": "credentials hidden",
    "processes": "no tracing of others",
    "signals": "no signals to others",
    "network": "no network",
}
"""What each layer means, in words. `processes` and `signals` are Landlock, the others namespaces of the kernel."""

SECRETS = tuple(
    ".ssh .aws .azure .config/gcloud .config/gh .docker .gnupg .kube .netrc .git-credentials .config/git/credentials "  # noqa: SIM905
    ".npmrc .pypirc .kaggle .databrickscfg .cargo/credentials.toml .vault-token .config/rclone .local/share/keyrings "
    ".cache/huggingface/token .cache/huggingface/stored_tokens .huggingface/token".split()
)
"""Places below the home folder where tools keep credentials."""
SOCKETS = ("/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/user")
"""Places where somebody listens who starts programs for others."""
DEVICES = tuple("shm pts ptmx tty null zero full random urandom nvidia* dri kfd infiniband fuse".split())  # noqa: SIM905
"""What may be written below `/dev`: no disks."""
DOWNLOADS = (".cache/huggingface", ".cache/torch", ".cache/kagglehub", ".keras", "nltk_data", "scikit_learn_data")
"""Places below the home folder where what a test downloads is found by the next one."""


class Isolation(StrEnum):
    """How much isolation is asked for."""

    OFF = "off"
    AUTO = "auto"
    REQUIRED = "required"


class IsolationError(OSError):
    """Isolation is required, and not all of its layers hold."""


@dataclass(frozen=True)
class Confinement:
    """One start of a program through `confine.py`."""

    answer: int
    """Where it tells what holds."""
    tell: int
    prefix: tuple[str, ...]
    """What goes in front of the command."""

    def held(self) -> tuple[str, ...]:
        """The layers that hold; to be asked once, after the start.

        Raises OSError where the command could not be started, IsolationError where a layer that is needed is missing.
        """
        os.close(self.tell)
        with os.fdopen(self.answer, "rb") as file:
            told = [json.loads(line) for line in file.read().splitlines()]
        for each in told:
            if missing := each.get("missing"):
                raise IsolationError(0, f"isolation is required, and the kernel does not grant: {', '.join(missing)}")
            if number := each.get("errno"):
                raise OSError(number, os.strerror(number))
        return tuple(told[0]["held"]) if told else ()


def isolation_of(setting: str) -> Isolation:
    """What `[execution] isolation` asks for. Where nothing is set, nobody is kept from an accelerator: what isolation
    does to one is not measured."""
    return Isolation(setting or (Isolation.OFF if has_accelerator() else Isolation.AUTO))


def has_accelerator() -> bool:
    return any(Path(place).exists() for place in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/kfd", "/dev/accel"))


def confinement(
    wanted: Isolation,
    project: Sequence[Path],
    store: Path,
    *,
    data: Sequence[Path] = (),
    needed: Sequence[str] = (),
    apart: bool = True,
) -> Confinement:
    """What starts a program that changes the folders of the project, and elsewhere private copies, kept in `store`.

    `data` are folders of which it is to have copies, whatever is around them. With `required` it has no network, and
    shares no download cache. Without the layers that are `needed` it does not start; without `apart` it has no private
    copies, and nothing is hidden.
    """
    answer, tell = os.pipe()
    home, agent = Path.home(), os.environ.get("SSH_AUTH_SOCK")
    is_required, downloads = wanted is Isolation.REQUIRED, [str(home / name) for name in DOWNLOADS]
    orders = {
        "tell": tell,
        "parent": os.getpid(),
        "needed": list(needed),
        "offline": is_required,
        "apart": apart,
        "cover": [str(path) for path in (home, *data) if path.is_dir()],
        "store": str(store),
        "share": [*(str(path) for path in project), *([] if is_required else downloads)],
        "write": [tempfile.gettempdir(), *(str(path) for name in DEVICES for path in Path("/dev").glob(name))],
        "hide": [*(str(home / name) for name in SECRETS), *SOCKETS, *([agent] if agent else [])],
    }
    return Confinement(answer, tell, (sys.executable, "-I", "-S", str(CONFINE), json.dumps(orders)))


@functools.cache
def granted(wanted: Isolation, project: Path, data: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """The layers that this machine grants to a project with its data, tried on a process that does nothing."""
    if sys.platform != "linux" or wanted is Isolation.OFF:
        return ()
    with temporary_folder() as store:
        start = confinement(wanted, [project], Path(store), data=data)
        command = [*start.prefix, sys.executable, "-I", "-S", "-c", ""]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[start.tell]):
            return start.held()


def in_words(wanted: Isolation, held: Sequence[str]) -> str:
    """What holds, what is not asked for, and what is missing, as one sentence for a report."""
    if wanted is Isolation.OFF:
        return "none: what it does to an accelerator is not measured (`--isolation auto` asks for it)"
    asked = [name for name in LAYERS if name != "network" or wanted is Isolation.REQUIRED]
    missing = [name for name in asked if name not in held]
    told = [LAYERS[name] for name in asked if name in held]
    text = ", ".join(told) or "nothing"
    text += "" if wanted is Isolation.REQUIRED else "; network open (policy)"
    return text + (f"; not granted by this machine: {', '.join(missing)}" if missing else "")

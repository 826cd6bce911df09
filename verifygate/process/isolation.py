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

CONFINE = Path(__file__).with_name("confine.py")
LAYERS = {
    "network": "no network but loopback",
    "secrets": "credentials at home and the SSH agent hidden",
    "files": "files changed only in the project and the temporary folder, no ptrace",
    "signals": "no signal to others",
}
"""What each layer means, in words. `network` and `secrets` are namespaces of the kernel, the others Landlock."""

SECRETS = tuple(
    ".ssh .aws .azure .config/gcloud .config/gh .docker .gnupg .kube .netrc .git-credentials .npmrc .pypirc "  # noqa: SIM905
    ".cache/huggingface/token .huggingface/token".split()
)
"""Places below the home folder where tools keep credentials."""


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


def confinement(wanted: Isolation, writable: Sequence[Path]) -> Confinement:
    """What starts a program that may change files below `writable` and the temporary folder only."""
    answer, tell = os.pipe()
    home, agent = Path.home(), os.environ.get("SSH_AUTH_SOCK")
    orders = {
        "tell": tell,
        "parent": os.getpid(),
        "needed": list(LAYERS) if wanted is Isolation.REQUIRED else [],
        "write": [str(path) for path in (*writable, tempfile.gettempdir(), "/dev")],
        "hide": [*(str(home / name) for name in SECRETS), *([agent] if agent else [])],
    }
    return Confinement(answer, tell, (sys.executable, "-I", "-S", str(CONFINE), json.dumps(orders)))


@functools.cache
def possible() -> tuple[str, ...]:
    """The layers that this machine grants, tried on a process that does nothing."""
    if sys.platform != "linux":
        return ()
    start = confinement(Isolation.AUTO, ())
    command = [*start.prefix, sys.executable, "-I", "-S", "-c", ""]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[start.tell]):
        return start.held()


def in_words(held: Sequence[str]) -> str:
    """What holds and what does not, as one sentence for a report."""
    missing = [name for name in LAYERS if name not in held]
    text = "; ".join(LAYERS[name] for name in LAYERS if name in held) or "nothing"
    return text + (f" (not granted by this machine: {', '.join(missing)})" if missing else "")

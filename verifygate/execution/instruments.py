"""Start the project's code under instruments: what is copied next to it, how it is started, what came back.

The one place that knows how: a stage or command names the instruments and reads what they told. The contract of an
instrument stands in `instrument/launch.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifygate import instrument
from verifygate.base.json_lines import parsed
from verifygate.base.regular_files import open_regular
from verifygate.process.subject import Completed, StartOptions, Subject

PACKAGE = "verifygate_instruments"
"""The name of the copied folder, and of the package in the subject's process; `instrument/bootstrap.py` has it too."""
TOLD = "told.jsonl"
CHILDREN = "children"
CHILDREN_VARIABLE = "VERIFYGATE_CHILDREN"
MOST_CHILDREN = 256
"""These three as `instrument/children.py` has them."""
MAX_TOLD_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class LaunchOptions:
    """How a script is started, where that is not as usual."""

    python: Sequence[str] = ()
    """Options of the interpreter."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Adds to the environment."""
    cwd: Path | None = None
    """The folder it runs in; None for the root."""
    follow: bool = False
    """The Python processes that it starts have the instruments as well."""


AS_USUAL = LaunchOptions()


@dataclass(frozen=True)
class Launched:
    """One finished run under instruments."""

    completed: Completed
    told: tuple[dict[str, Any], ...] = field(default=())
    """What the launcher and the instruments told, in order; each has an `event`."""

    @property
    def ended(self) -> dict[str, Any] | None:
        """How the script ended; None where the process died before it could say."""
        return next((one for one in self.told if one["event"] == "ended"), None)

    @property
    def installed(self) -> tuple[str, ...]:
        return tuple(str(one.get("instrument")) for one in self.told if one["event"] == "installed")

    @property
    def failed(self) -> tuple[str, ...]:
        """`name: why` of each instrument that could not be installed."""
        lost = (one for one in self.told if one["event"] == "not-installed")
        return tuple(f"{one.get('instrument')}: {one.get('error')}" for one in lost)


def assemble(folder: Path) -> Path:
    """Copy the instruments into `folder`, and return what starts them in there.

    `folder` may also go on the subject's module path, for what is loaded as `verifygate_instruments.<module>`.
    """
    package = folder / PACKAGE
    shutil.copytree(Path(instrument.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package / "bootstrap.py"


def launch(
    subject: Subject,
    command: Sequence[str],
    instruments: Sequence[tuple[str, dict[str, Any]]],
    *,
    folder: Path,
    seconds: float,
    options: LaunchOptions = AS_USUAL,
    tell: Callable[[str], object] | None = None,
) -> Launched:
    """Run `script.py arguments...` or `-m module arguments...` with these instruments, installed in this order.

    `folder` is private to the run and empty; instruments write there. `tell` gets its output while it runs.
    Raises OSError where the interpreter cannot be started.
    """
    start = assemble(folder / "code")
    written = folder / "written"
    written.mkdir()
    root = str(options.cwd or subject.root)
    orders = {"folder": str(written), "root": root, "instruments": list(instruments), "follow": options.follow}
    completed = subject.run(
        [*options.python, str(start), "launch", "--options", json.dumps(orders), "--", *command],
        seconds=seconds,
        start=StartOptions(options.env, cwd=options.cwd, safe_path=True, answers=[folder]),
        tell=tell,
    )
    return Launched(completed, read_all_told(written))


def read_all_told(written: Path) -> tuple[dict[str, Any], ...]:
    """What was told in the process that was started, and after it what was told in those that it started itself."""
    told = list(read_told(written / TOLD))
    for child in children(written):
        for one in read_told(child / TOLD):
            told.append({"event": "testing", "id": one.get("section")} if one["event"] == "child" else one)
    return tuple(told)


def children(written: Path) -> list[Path]:
    """The folders of the processes that the subject started and that imported torch, in the order of their start."""
    folder = written / CHILDREN
    return sorted(path for path in folder.iterdir() if path.is_dir())[:MOST_CHILDREN] if folder.is_dir() else []


def read_told(path: Path) -> tuple[dict[str, Any], ...]:
    """The lines that were told, as far as they are whole; nothing where the launcher never came to tell."""
    if not path.is_file():
        return ()
    with open_regular(path) as file:
        lines = file.read(MAX_TOLD_BYTES).splitlines(keepends=True)
    told = []
    for line in lines:
        one = parsed(line) if line.endswith(b"\n") else None  # the project can write there as well
        if isinstance(one, dict) and isinstance(one.get("event"), str):
            told.append(one)
    return tuple(told)

"""Run the project's tests once, under the eyes of the plugin."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from verifygate import instrument
from verifygate.execution.stream import Record, read_stream
from verifygate.subject import Completed, Subject

PACKAGE = "verifygate_instruments"
"""The name that the copied plugin has in the project's process; nothing there is called like that."""
PLUGIN = f"{PACKAGE}.pytest_stream"
MODULES = ("__init__.py", "calls.py", "pytest_stream.py")
VARIABLE = "VERIFYGATE_STREAM"
LINGER_SECONDS = 15.0
"""How long the process may live on after its last test, before the plugin ends it."""

OPTIONS = ("-p", "no:xdist", "-p", "no:randomly", "--rootdir=.", "-o", "addopts=")
"""Ids relative to the root, and nothing that could hide a failure. `addopts` is emptied (what discovery.KEPT_OPTIONS
names comes back as an argument); xdist would run tests in processes that the plugin does not see; a random order
would make two reports of the same project differ."""


@dataclass(frozen=True)
class Session:
    """One finished run: how the process ended, and what the plugin told from inside."""

    command: tuple[str, ...]
    """What a person types in the root to see the same run, without the plugin: `python -m pytest ...`."""
    completed: Completed
    record: Record
    coverage_data: Path


def run_pytest(
    subject: Subject, arguments: Sequence[str], *, files: Sequence[Path], seconds: float, folder: Path
) -> Session:
    """Run `python -m pytest` on `arguments` and record which lines of `files` each test executes.

    `folder` is private to this run: the plugin, its stream, pytest's cache and the tests' temporary files go there.
    Raises OSError where the interpreter cannot be started.
    """
    plugins, temporary = folder / "plugin", folder / "tmp"
    (plugins / PACKAGE).mkdir(parents=True)
    temporary.mkdir()
    for module in MODULES:
        shutil.copy(Path(instrument.__file__).with_name(module), plugins / PACKAGE / module)
    stream, data, nonce = folder / "stream", folder / "coverage", secrets.token_hex(16)
    instructions = {
        "stream": str(stream),
        "nonce": nonce,
        "files": [str(path) for path in files],
        "data": str(data),
        "linger_seconds": LINGER_SECONDS,
    }
    private = ("-p", PLUGIN, "-o", f"cache_dir={folder / 'cache'}")
    completed = subject.run(
        ["-m", "pytest", *private, *OPTIONS, *arguments],
        seconds=seconds,
        env={VARIABLE: json.dumps(instructions), "TMPDIR": str(temporary)},
        python_path=[plugins],
    )
    command = ("python", "-m", "pytest", *OPTIONS, *arguments)
    return Session(command, completed, read_stream(stream, nonce), data)

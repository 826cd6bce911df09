"""Run the project's tests once, under the eyes of the plugin."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifygate.config.settings import ExecutionSettings
from verifygate.execution.instruments import PACKAGE, assemble, read_all_told
from verifygate.execution.stream import Record, read_stacks, read_stream
from verifygate.execution.tests_in_source import PASSING_DECORATORS
from verifygate.process.subject import UNLIMITED, Completed, Limits, StartOptions, Subject

PLUGIN = f"{PACKAGE}.pytest_plugin.stream"
START = "pytest_plugin.run"
INSTRUMENTS_PLUGIN = f"{PACKAGE}.pytest_plugin.instruments"
INSTRUMENTS_VARIABLE = "VERIFYGATE_INSTRUMENTS"
LINGER_SECONDS = 15.0
"""How long the process may live on after its last test, before the plugin ends it."""

STACKS = "stacks"
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
    written: Path
    """Where the instruments wrote."""
    told: tuple[dict[str, Any], ...] = ()
    """What the instruments told, where there were any, between `collecting` and `testing` with an `id`."""
    interpreter: str = "the project's interpreter"
    """The one that ran it."""


@dataclass(frozen=True)
class Bounds:
    """What a run of tests may take."""

    seconds: float
    test_seconds: float | None = None
    """A test that takes longer ends the run."""
    limits: Limits = UNLIMITED
    """Of each of its processes."""


@dataclass(frozen=True)
class SessionOptions:
    """What is watched in a run of tests, and which tests run."""

    files: Sequence[Path] = ()
    """Files of which it is recorded which lines each test executes."""
    instruments: Sequence[tuple[str, dict[str, Any]]] = ()
    """In place before anything of the project is loaded: the name and the options of each."""
    only: Sequence[str] = ()
    """Ids of collected tests or files. Where there are any, all other tests are put aside and told of as if they were
    not there."""
    python_path: Sequence[Path] = ()
    """Folders in front of the root on the module path."""
    apart: Path | None = None
    """Modules that come from below this folder are told of."""


def run_pytest(
    subject: Subject,
    arguments: Sequence[str],
    *,
    folder: Path,
    bounds: Bounds,
    options: SessionOptions,
) -> Session:
    """Run `python -m pytest` on `arguments`, and read what the plugin told of it.

    `folder` is private to this run: the plugin, its stream, pytest's cache and the tests' temporary files go there.
    Raises OSError where the interpreter cannot be started.
    """
    temporary, written = folder / "tmp", folder / "written"
    start = assemble(folder / "plugin")
    temporary.mkdir()
    written.mkdir()
    stream, data, key = folder / "stream", folder / "coverage", secrets.token_hex(32)
    instructions = {
        "stream": str(stream),
        "key": key,
        "files": [str(path) for path in options.files],
        "data": str(data),
        "linger_seconds": LINGER_SECONDS,
        "stacks": str(folder / STACKS),
        "test_seconds": bounds.test_seconds,
        "only": list(options.only),
        "apart": str(options.apart) if options.apart is not None else "",
        "harmless": PASSING_DECORATORS,
    }
    private = ["-p", PLUGIN, "-o", f"cache_dir={folder / 'cache'}", "-o", "faulthandler_timeout=0"]
    env = {"TMPDIR": str(temporary)}
    if options.instruments:
        private = ["-p", INSTRUMENTS_PLUGIN, *private]
        env[INSTRUMENTS_VARIABLE] = _orders(options.instruments, subject.root, written)
    deadline = time.monotonic() + bounds.seconds
    completed = subject.run(
        [str(start), START, *private, *OPTIONS, *arguments],
        seconds=bounds.seconds,
        limits=bounds.limits,
        start=StartOptions(
            env,
            options.python_path,
            safe_path=True,
            given=json.dumps(instructions).encode(),
            answers=[folder],
        ),
    )
    record = read_stream(stream, key)
    record.standing, over = read_stacks(folder / STACKS)
    record.last_seconds = max(0.0, deadline - record.last_start)
    record.test_limit = bounds.test_seconds if over else None
    command = ("python", "-m", "pytest", *OPTIONS, *arguments)
    return Session(command, completed, record, data, written, read_all_told(written), str(subject.interpreter))


def _orders(instruments: Sequence[tuple[str, dict[str, Any]]], root: Path, written: Path) -> str:
    """What the plugin reads that puts instruments in place."""
    return json.dumps({"folder": str(written), "root": str(root), "instruments": list(instruments), "follow": True})


def bounds_of(settings: ExecutionSettings, seconds: float | None = None) -> Bounds:
    """What a run of tests may take, as it is configured; `seconds` where less than the configured time is left."""
    mib = 1024 * 1024
    memory, file = settings.memory_mib, settings.file_mib
    limits = Limits(memory and memory * mib, file and file * mib, settings.processes)
    return Bounds(settings.seconds if seconds is None else seconds, settings.test_seconds, limits)

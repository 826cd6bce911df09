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
from verifygate.process.subject import UNLIMITED, Completed, Limits, Subject

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


def run_pytest(
    subject: Subject,
    arguments: Sequence[str],
    *,
    folder: Path,
    seconds: float,
    test_seconds: float | None = None,
    limits: Limits = UNLIMITED,
    files: Sequence[Path] = (),
    instruments: Sequence[tuple[str, dict[str, Any]]] = (),
    only: Sequence[str] = (),
    python_path: Sequence[Path] = (),
    apart: Path | None = None,
) -> Session:
    """Run `python -m pytest` on `arguments` and record which lines of `files` each test executes.

    A test that takes longer than `test_seconds` ends the run.
    `folder` is private to this run: the plugin, its stream, pytest's cache and the tests' temporary files go there.
    `instruments` are in place before anything of the project is loaded. `only` are ids of collected tests or files;
    where it names any, all other tests are put aside and told of as if they were not there. `python_path` goes in front
    of the root on the module path. Modules that come from below `apart` are told of.
    Raises OSError where the interpreter cannot be started.
    """
    plugins, temporary, written = folder / "plugin", folder / "tmp", folder / "written"
    start = assemble(plugins)
    temporary.mkdir()
    written.mkdir()
    stream, data, key = folder / "stream", folder / "coverage", secrets.token_hex(32)
    instructions = {
        "stream": str(stream),
        "key": key,
        "files": [str(path) for path in files],
        "data": str(data),
        "linger_seconds": LINGER_SECONDS,
        "stacks": str(folder / STACKS),
        "test_seconds": test_seconds,
        "only": list(only),
        "apart": str(apart) if apart is not None else "",
        "harmless": PASSING_DECORATORS,
    }
    env = {"TMPDIR": str(temporary)}
    private = ["-p", PLUGIN, "-o", f"cache_dir={folder / 'cache'}", "-o", "faulthandler_timeout=0"]
    if instruments:
        private = ["-p", INSTRUMENTS_PLUGIN, *private]
        wanted = {"folder": str(written), "root": str(subject.root), "instruments": list(instruments), "follow": True}
        env[INSTRUMENTS_VARIABLE] = json.dumps(wanted)
    deadline = time.monotonic() + seconds
    completed = subject.run(
        [str(start), START, *private, *OPTIONS, *arguments],
        seconds=seconds,
        env=env,
        python_path=python_path,
        limits=limits,
        safe_path=True,
        given=json.dumps(instructions).encode(),
        answers=[folder],
    )
    command = ("python", "-m", "pytest", *OPTIONS, *arguments)
    record = read_stream(stream, key)
    record.standing, over = read_stacks(folder / STACKS)
    record.last_seconds = max(0.0, deadline - record.last_start)
    record.test_limit = test_seconds if over else None
    return Session(command, completed, record, data, written, read_all_told(written), str(subject.interpreter))


def limits_of(settings: ExecutionSettings) -> Limits:
    """What each process of a test run may take, as it is configured."""
    mib = 1024 * 1024
    memory, file = settings.memory_mib, settings.file_mib
    return Limits(memory and memory * mib, file and file * mib, settings.processes)

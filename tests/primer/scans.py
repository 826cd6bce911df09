"""Run the check of one revision on a package, in a process of its own, and measure what it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 1800.0
"""After which a scan is ended: it counts as one that broke."""
_KIB = 1 if sys.platform == "darwin" else 1024
_FOUND = (0, 1, 2)
"""Exit statuses of a check that came to its end; 2: some files could not be analysed."""


@dataclass(frozen=True)
class Revision:
    """A version of the gate: a folder that holds the package `verifygate`."""

    label: str
    folder: Path


@dataclass(frozen=True)
class Scan:
    """How one check of one package ended."""

    status: int
    """The exit status; negative for a signal."""
    output: bytes
    errors: str
    cpu_seconds: float
    peak_bytes: int

    @property
    def broke(self) -> bool:
        """Whether it ended without a report: a crash of Python has the status of a check with findings."""
        return self.status not in _FOUND or not self.output.startswith(b"{")

    @property
    def ending(self) -> str:
        """How it ended, for a person: the status, and what it printed on stderr."""
        return f"exit status {self.status}: {self.errors.strip() or 'no message'}"

    @property
    def document(self) -> dict[str, Any]:
        """The report that it printed, or an empty one."""
        if self.broke:
            return {"findings": [], "not_followed": [], "not_analysed": [], "files_checked": 0}
        document: dict[str, Any] = json.loads(self.output)
        return document


def scan(revision: Revision, tree: Path, *, seed: int) -> Scan:
    """Check a package with a revision; `seed` is that of Python's hashes, on which no answer may depend."""
    return run(revision, ["check", "--format", "json", "--no-cache", "."], tree, seed=seed)


def run(revision: Revision, arguments: Sequence[str], cwd: Path, *, seed: int = 0) -> Scan:
    """Run a command of a revision in a folder."""
    environment = os.environ | {
        "PYTHONPATH": str(revision.folder),
        "PYTHONHASHSEED": str(seed),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-P", "-m", "verifygate", *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        limit = threading.Timer(SECONDS, child.kill)
        limit.start()
        _, ended, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(ended)  # so that nobody waits for it once more
        limit.cancel()
        out.seek(0)
        err.seek(0)
        return Scan(
            status=child.returncode,
            output=out.read(),
            errors=err.read().decode("utf-8", "replace"),
            cpu_seconds=used.ru_utime + used.ru_stime,
            peak_bytes=used.ru_maxrss * _KIB,
        )

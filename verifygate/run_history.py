"""The history of runs: a file with a line of JSON for each, which CI keeps from job to job.

    {"started": "2026-01-01T00:00:00+00:00", "commit": "0f3c...", "verdict": "PASS", "score": 97.5, "reasons": 0, ...}

Runs that end at the same time wait for each other, so none is lost. The last `MOST_KEPT` stay.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections import Counter
from pathlib import Path

from pydantic import ValidationError

from verifygate.base.errors import UsageError
from verifygate.base.strict_json import DocumentError, parsed
from verifygate.model import Report, Severity
from verifygate.model.past_run import PastRun

MOST_KEPT = 200
MOST_BYTES = 1024 * 1024
_REMEDY = "name another file with --history"
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


def entry_of(report: Report) -> PastRun:
    """What the history keeps of a report."""
    found = Counter(finding.severity for stage in report.stages for finding in stage.findings)
    return PastRun(
        started=report.run.started,
        commit=report.provenance.commit,
        verdict=report.verdict,
        score=report.score,
        reasons=len(report.reasons),
        critical=found[Severity.CRITICAL],
        high=found[Severity.HIGH],
        medium=found[Severity.MEDIUM],
        low=found[Severity.LOW],
    )


def read(path: Path) -> tuple[PastRun, ...]:
    """The runs that a file holds, the oldest first; none where there is no file yet. Raises UsageError, also where
    none could be made."""
    if not os.path.lexists(path):
        if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
            raise UsageError("its folder is not there, or cannot be written to", where=str(path), remedy=_REMEDY)
        return ()
    with _Locked(path, os.O_RDWR) as file:
        return file.runs()


def add(path: Path, run: PastRun) -> tuple[PastRun, ...]:
    """Put a run behind those that a file holds, and return all that are kept. Raises UsageError."""
    with _Locked(path, os.O_RDWR | os.O_CREAT) as file:
        runs = (*file.runs(), run)
        if len(runs) > 2 * MOST_KEPT:
            runs = runs[-MOST_KEPT:]
            file.replace(runs)
        else:
            file.append(run)
    return runs[-MOST_KEPT:]


class _Locked:
    """A file of runs, open, and locked against other runs until it is closed."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path = path
        self._flags = flags

    def __enter__(self) -> _Locked:
        try:
            self._handle = os.open(self._path, _FLAGS | self._flags, 0o644)
        except OSError as error:
            raise self._refused(f"cannot be opened: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(self._handle).st_mode):
                raise self._refused("is no regular file")
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        except OSError as error:
            os.close(self._handle)
            raise self._refused(f"cannot be locked: {error.strerror}") from None
        except UsageError:
            os.close(self._handle)
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._handle)

    def runs(self) -> tuple[PastRun, ...]:
        data = os.pread(self._handle, MOST_BYTES + 1, 0)
        if len(data) > MOST_BYTES:
            raise self._refused(f"is larger than {MOST_BYTES // 1024} KiB")
        if data and not data.endswith(b"\n"):
            raise self._refused("its last line has no end", data.count(b"\n") + 1)
        return tuple(self._run(line, number) for number, line in enumerate(data.splitlines(), 1))

    def _run(self, line: bytes, number: int) -> PastRun:
        try:
            return PastRun.model_validate(parsed(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            at = ".".join(map(str, first["loc"])) or "the line"
            raise self._refused(f"`{at}`: {first['msg']}", number) from None
        except DocumentError as error:
            raise self._refused(str(error), number) from None

    def append(self, run: PastRun) -> None:
        self._write(_line(run))

    def replace(self, runs: tuple[PastRun, ...]) -> None:
        os.ftruncate(self._handle, 0)
        self._write(b"".join(map(_line, runs)))

    def _write(self, data: bytes) -> None:
        size = os.fstat(self._handle).st_size
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError as error:
            os.ftruncate(self._handle, size)  # part of a line would stop every later run
            raise self._refused(f"cannot be written: {error.strerror}") from None

    def _refused(self, problem: str, line: int = 0) -> UsageError:
        where = f"{self._path}:{line}" if line else str(self._path)
        return UsageError(problem, where=where, remedy=f"remove it, or {_REMEDY}")


def _line(run: PastRun) -> bytes:
    return json.dumps(run.model_dump(mode="json"), separators=(",", ":")).encode() + b"\n"

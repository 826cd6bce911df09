"""What a run hands to the job of GitHub Actions that it is a step of: the outputs, the summary, the annotations.

The gate writes them itself, of the report in its memory. A shell that read the stored report again would read what the
tests may have put there meanwhile.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from verifygate.base.errors import UsageError

if TYPE_CHECKING:
    from verifygate.model import Report

OUTPUTS, SUMMARY = "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"


class GithubJob:
    """The two files of the step, opened before anything of the project runs: nobody can put others in their place."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raises UsageError where this is no step of GitHub Actions."""
        self._files = {name: _opened(name, environment.get(name, "")) for name in (OUTPUTS, SUMMARY)}
        self._sizes = {name: os.fstat(file).st_size for name, file in self._files.items()}

    def take(self, report: Report, stored: Path, summary: str) -> None:
        """Write the verdict, the path of the stored report and the summary behind what stood there at the start."""
        self._write(OUTPUTS, _output("verdict", report.verdict.value) + _output("report", os.fspath(stored)))
        self._write(SUMMARY, summary)

    def _write(self, name: str, text: str) -> None:
        file = self._files[name]
        os.ftruncate(file, self._sizes[name])  # what came meanwhile is not the gate's
        with os.fdopen(file, "a", encoding="utf-8", errors="backslashreplace", closefd=False) as stream:
            stream.write(text)


def _opened(name: str, path: str) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _unusable(name, error.strerror or "it cannot be opened") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise _unusable(name, "it is no regular file")
    return file


def _unusable(name: str, problem: str) -> UsageError:
    return UsageError(f"{name} names no file to write to: {problem}", where="--github-job", remedy="leave it out here")


def _output(name: str, value: str) -> str:
    """One output, with an end that no value holds."""
    end = secrets.token_hex(16)
    return f"{name}<<{end}\n{value}\n{end}\n"

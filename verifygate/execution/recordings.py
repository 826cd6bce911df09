"""Write and read recordings of runs: `verifygate probe --record FILE`."""

from __future__ import annotations

import functools
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pydantic

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import MAX_SOURCE_BYTES, open_regular, read_regular
from verifygate.execution.instruments import children
from verifygate.model.recording import Recording, Window

FILE = "values.jsonl"
"""As the instrument has it."""
MAGIC = b"\x1f\x8b"
MAX_BYTES = 512 * 1024 * 1024
REMEDY = "give a file that `verifygate probe --record FILE` of this version wrote"


def collected(written: Path, root: Path) -> tuple[tuple[Window, ...], ...]:
    """The windows of each process of a run that kept any. What is not as the instrument writes it is left out."""
    folders = [written, *children(written)]
    found = [tuple(_windows(folder / FILE, root)) for folder in folders]
    return tuple(windows for windows in found if windows)


def why_not(told: Sequence[dict[str, Any]]) -> str:
    """Why the instrument did not look; empty where it did."""
    return next((str(one["why_not"]) for one in told if one["event"] == "values" and one.get("why_not")), "")


def _windows(path: Path, root: Path) -> Iterator[Window]:
    try:
        text = read_regular(path, MAX_BYTES).decode("ascii")
        for line in text.splitlines():
            told = json.loads(line)
            rows = [_placed(row, root) for row in told.pop("rows")]
            yield Window.model_validate({**told, "operations": rows})
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # the process may write there what it likes
        return


def _placed(row: dict[str, Any], root: Path) -> dict[str, Any]:
    path, line, symbol = row.pop("place")
    lines = _lines(root, str(path)) if path else []
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return {**row, "path": path, "line": line, "symbol": symbol, "text": text}


@functools.lru_cache(maxsize=256)
def _lines(root: Path, path: str) -> list[str]:
    try:
        return read_regular(root / path, MAX_SOURCE_BYTES, tree=root).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def write(recording: Recording, path: Path) -> None:
    """Write a recording, compressed. Raises UsageError where the file cannot be written."""
    try:
        path.write_bytes(gzip.compress(recording.model_dump_json().encode(), mtime=0))
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path), remedy="name another file") from None


def is_recording(path: Path) -> bool:
    """Whether a file begins as a recording does, and not as a report."""
    try:
        with open_regular(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: Path) -> Recording:
    """A recording. Raises UsageError for what is none."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(read_regular(path, MAX_BYTES))) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError("larger than 512 MiB", where=str(path), remedy=REMEDY)
        return Recording.model_validate_json(data)
    except (OSError, EOFError, zlib.error, pydantic.ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        problem = f"cannot be read: {why}" if why else "not a recording"
        raise UsageError(problem, where=str(path), remedy=REMEDY) from None

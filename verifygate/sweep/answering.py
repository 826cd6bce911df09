"""What a worker does with a unit: look for an earlier answer, else analyse in a child process with a time limit.

An analysis that crashes, takes all memory or does not end costs its own process, never the worker, nor other units.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from pydantic import ValidationError

from verifygate import __version__
from verifygate.base import answer_store
from verifygate.base.errors import UsageError
from verifygate.base.masking import masked_model
from verifygate.model.sweep_report import Answer, Row
from verifygate.sweep.reading import identify
from verifygate.sweep.units import Unit

SHELF = "sweep"
MOST = 20_000
"""Answers that are kept; one takes some KiB."""
_CHARACTERS = 400


def answer(unit: Unit) -> str:
    """The row of a unit as JSON text, with `kept` (whether it is an earlier answer). It raises nothing of its own."""
    try:
        identity = identify(unit)
        row = _recalled(identity.key, unit, identity.commit)
        kept = row is not None
        row = row or _asked(unit)
    except UsageError as error:
        row, kept = unknown(unit, str(error)), False
    except (OSError, RecursionError, MemoryError) as error:
        row, kept = unknown(unit, f"it cannot be read: {error}"), False
    return json.dumps({"version": __version__, "kept": kept, "row": row.model_dump(mode="json")})


def unknown(unit: Unit, reason: str) -> Row:
    """The row of a unit that has no answer."""
    return Row(name=unit.name, answer=Answer.UNKNOWN, reason=" ".join(reason.split())[:_CHARACTERS])


def _recalled(key: str, unit: Unit, commit: str) -> Row | None:
    """The answer that was kept for the same files, under the name that they have in this list."""
    known = answer_store.recall(key, SHELF)
    if known is None:
        return None
    try:
        row = Row.model_validate_json(known.out[0])
    except (ValidationError, IndexError):
        return None
    return row.model_copy(update={"name": unit.name, "commit": commit})


def _asked(unit: Unit) -> Row:
    """The answer of a child process."""
    said = _said(unit)
    if isinstance(said, str):
        return unknown(unit, said)
    if "error" in said:
        return unknown(unit, str(said["error"]))
    row = Row.model_validate(said["row"])
    if said["keep"]:
        answer_store.keep(row.key, answer_store.CheckOutput((masked_model(row).model_dump_json(),), 0), SHELF, MOST)
    return row


def _said(unit: Unit) -> dict[str, Any] | str:
    """What the child printed; a text says why there is nothing."""
    command = [sys.executable, "-P", "-s", "-m", "verifygate.sweep.analysis", json.dumps(unit)]
    surroundings = os.environ | {"PYTHONHASHSEED": "0"}
    theirs, ours = os.pipe()
    try:
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=errors, env=surroundings) as child,
        ):
            try:
                printed, _ = child.communicate(timeout=unit.seconds)
            except subprocess.TimeoutExpired:
                return f"it took longer than {unit.seconds:g} s, its time limit (`--seconds` gives it more)"
            finally:
                child.kill()
            errors.seek(0)
            told = errors.read().decode("utf-8", "replace").strip().splitlines()
    finally:
        os.close(theirs)
        os.close(ours)
    return _parsed(printed) or f"{_ending(child.returncode)}: {told[-1] if told else 'it said nothing'}"


def _parsed(printed: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(printed)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _ending(status: int) -> str:
    if status < 0:
        return f"its analysis was ended by signal {-status}{', as for want of memory' if status == -9 else ''}"
    return f"its analysis broke with exit status {status}"

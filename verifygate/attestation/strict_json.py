"""JSON of a file that somebody may have signed: read so that it has one meaning."""

from __future__ import annotations

import json
from typing import Any

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MAX_BYTES = 64 * 1024 * 1024


class DocumentError(Exception):
    """What was read is not what it should be; the message says why in one line."""


def parsed(data: bytes) -> Any:
    """The JSON of a file. Raises DocumentError."""
    if len(data) > MAX_BYTES:
        raise DocumentError(f"larger than {MAX_BYTES // 1024 // 1024} MiB")
    try:
        return json.loads(data, object_pairs_hook=_each_once, parse_constant=_no_constant)
    except RecursionError:
        raise DocumentError("nested too deeply") from None
    except ValueError as error:
        raise DocumentError(f"not JSON: {error}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that stands twice could mean one thing to who signed and another to who reads."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")

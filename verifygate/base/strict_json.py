"""JSON of a document that is believed, a report or what somebody signed: read so that it has one meaning."""

from __future__ import annotations

import json
from typing import Any

MAX_BYTES = 64 * 1024 * 1024


class DocumentError(ValueError):
    """What was read is not what it should be; the message says why in one line."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line
        """Where it is not JSON."""


class DoubledKeyError(DocumentError):
    """An object has two values of one name: one reader takes the first, and another the last."""


def parsed(data: bytes | str) -> Any:
    """The JSON of a file. Raises DocumentError."""
    if len(data) > MAX_BYTES:
        raise DocumentError(f"larger than {MAX_BYTES // 1024 // 1024} MiB")
    try:
        return json.loads(data, object_pairs_hook=_each_once, parse_constant=_no_constant)
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise DocumentError(f"not JSON: {error}", error.lineno) from None
    except ValueError as error:
        raise DocumentError(f"not JSON: {error}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DoubledKeyError(f"the key {json.dumps(twice)[:60]} occurs twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise DocumentError(f"not JSON: {name} is not a JSON number")

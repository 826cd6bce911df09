"""Read lines of JSON that another process wrote, whatever stands in them."""

from __future__ import annotations

import json
from typing import Any


def parsed(line: bytes) -> Any:
    """The value of one line; None where it is no JSON.

    Half a surrogate pair (in a file name that is no UTF-8) is replaced by `?`: no report could be written with it.
    """
    try:
        value = json.loads(line)
        if b"\\ud" in line.lower():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value

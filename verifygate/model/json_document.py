"""JSON documents: as the text that every format writes, and by pointer (RFC 6901) to a place in one."""

from __future__ import annotations

from typing import Any


def text_of(document: object) -> str:
    """The document as text that UTF-8 can hold, ending in a line end; what is not ASCII stays readable.

    A file name that is not UTF-8 has lone surrogates in it: these are escaped. Raises ValueError for NaN and infinity.
    """
    import json  # a check that is read by people writes none

    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def take(document: Any, pointer: str) -> Any:
    """Remove and return what `pointer` names in a JSON document, leaving null in its place."""
    parent, key = _parent(document, pointer)
    value, parent[key] = parent[key], None
    return value


def put(document: Any, pointer: str, value: Any) -> None:
    """Set what `pointer` names in a JSON document. Raises KeyError or IndexError where there is no such place."""
    parent, key = _parent(document, pointer)
    parent[key] = value


def _parent(document: Any, pointer: str) -> tuple[Any, Any]:
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in path:
        document = document[int(part) if isinstance(document, list) else part]
    return document, int(last) if isinstance(document, list) else last


def key_in_pointer(key: str) -> str:
    """A key as a JSON pointer has it."""
    return key.replace("~", "~0").replace("/", "~1")

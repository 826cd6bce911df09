"""Digests of short texts, by the interpreter's own module: `hashlib` loads OpenSSL, which takes 4 ms of a check.

(The standard library's `random` does the same, for the same reason.) For whole files OpenSSL is the faster one.
"""

from __future__ import annotations

try:
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # from Python 3.12 on
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256


def digest_of(text: str) -> str:
    """The sha256 of a text in UTF-8, in hexadecimal; what is no text is escaped."""
    return str(sha256(text.encode("utf-8", "backslashreplace")).hexdigest())

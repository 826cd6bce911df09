"""Where the gate keeps what it may need again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "VERIFYGATE_CACHE_DIR"
"""The environment variable that names another folder."""


def cache_folder() -> Path | None:
    """Where the platform keeps a user's caches; None where the user has no home."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
        return Path(base) / "verifygate" / "Cache" if base else None
    home = os.environ.get("HOME", "")
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Caches" / "verifygate" if home else None
    given = os.environ.get("XDG_CACHE_HOME", "")
    if Path(given).is_absolute():  # the specification: a relative one is to be ignored
        return Path(given) / "verifygate"
    return Path(home) / ".cache" / "verifygate" if home else None

"""Import what a table names, when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def loaded(path: str) -> Any:
    """The object at `package.module:name`: `loaded("os.path:join")` is `os.path.join`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)

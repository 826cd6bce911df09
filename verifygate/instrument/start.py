"""Runs inside the subject's interpreter: start a module of this folder as a part of a package.

Usage: python start.py launch|bench.profile_arm|bench.predict_memory|proofs.harness|proofs.ranks [argument]...

The module's `main` gets the arguments and gives the exit code. No entry of `sys.path` leads to the package, so nothing
that lies here can be taken for a module of the subject's.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "verifygate_instruments"
"""The name under which the subject's process knows this folder."""


def load() -> None:
    """Make the package known, as a whole: its modules import each other by its name."""
    spec = importlib.util.spec_from_file_location(PACKAGE, HERE / "__init__.py", submodule_search_locations=[str(HERE)])
    assert spec is not None  # noqa: S101 - the file stands beside this one
    assert spec.loader is not None  # noqa: S101
    sys.modules[PACKAGE] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


def main(module: str, *arguments: str) -> int:
    """Load the package and call `main(arguments)` of its module."""
    load()
    return int(importlib.import_module(f"{PACKAGE}.{module}").main(arguments))


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != HERE]
    sys.exit(main(*sys.argv[1:]))

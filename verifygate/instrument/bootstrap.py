"""Runs inside the subject's interpreter: start a module of this folder as a part of a package.

Usage: python bootstrap.py launch|bench.profile_arm|bench.predict_memory|proofs.harness|proofs.ranks [argument]...

The module's `main` gets the arguments and gives the exit code. No entry of `sys.path` leads to the package, so nothing
that lies here can be taken for a module of the subject's. And none leads to the subject while the interpreter starts
and our modules load: a `sitecustomize.py` or a `json.py` of the subject is not taken for Python's own. The subject's
folders come onto the module path right before `main`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE_PATH = "VERIFYGATE_MODULE_PATH"
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
    started = importlib.import_module(f"{PACKAGE}.{module}")
    take_module_path()
    return int(started.main(arguments))


def take_module_path() -> None:
    """Put the subject's folders where PYTHONPATH would have put them, for this process and for those it starts."""
    given = os.environ.pop(MODULE_PATH, "")
    if given:
        os.environ["PYTHONPATH"] = given
        sys.path[:0] = given.split(os.pathsep)


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != HERE]
    sys.exit(main(*sys.argv[1:]))

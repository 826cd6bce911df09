"""Runs at the start of each Python process that the subject starts: `torchrun`'s ranks, spawned workers, scripts.

Python imports a module of this name by itself. This one puts the instruments in place, as the parent's environment
says, and then lets the one that it hides have its turn. Whatever goes wrong in here is kept from the process.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - pathlib would cost each process its import
VARIABLE = "VERIFYGATE_CHILDREN"
PACKAGE = "verifygate_instruments"


def begin(given: str) -> None:
    """Load the package of the instruments, and let them wait for torch."""
    start = os.path.join(os.path.dirname(HERE), "bootstrap.py")  # noqa: PTH118, PTH120
    spec = importlib.util.spec_from_file_location("_verifygate_start", start)
    assert spec is not None  # noqa: S101 - the file stands in the folder above
    assert spec.loader is not None  # noqa: S101
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load()
    importlib.import_module(f"{PACKAGE}.children").begin(given)


def make_way() -> None:
    """Import the module of this name that would have been found without us, if there is one."""
    own = sys.modules.pop(__name__, None)
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.realpath(entry) != HERE]
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault(__name__, own)


if __name__ == "sitecustomize":
    try:
        if os.environ.get(VARIABLE) and PACKAGE not in sys.modules:
            begin(os.environ[VARIABLE])
    except Exception:  # noqa: S110 - another interpreter, or a folder that is gone: the process goes on without us
        pass
    make_way()

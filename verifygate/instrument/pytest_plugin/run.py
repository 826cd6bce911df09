"""Runs inside the subject's interpreter: pytest as `python -m pytest` runs it, with the gate's plugin in place first.

Usage: python bootstrap.py pytest_plugin.run [pytest's argument]...

`bootstrap.py` imports this module, and by it pytest and the plugin, while no folder of the subject is on the module
path: a `pytest.py` or a `coverage` of the subject does not stand for the installed one. What the plugin has to know
comes by standard input, which is closed before any code of the subject runs: it is never in the environment, which
other processes can read (`/proc/PID/environ`), and in no argument.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy  # noqa: F401 - pytest's own imports, before the subject has a say in what they are
import sys
from collections.abc import Sequence

import pytest  # noqa: F401

from ..launch import new_main
from . import stream


def main(arguments: Sequence[str]) -> int:
    """Run pytest as `__main__`; ends by SystemExit, as pytest does."""
    given = json.loads(sys.stdin.buffer.read() or b"null")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    if given is not None:
        stream.begin(given)
    spec = importlib.util.find_spec("pytest.__main__")
    assert spec is not None  # noqa: S101 - pytest is loaded
    assert spec.loader is not None  # noqa: S101
    code = spec.loader.get_code(spec.name)  # type: ignore[attr-defined]
    sys.argv = [str(spec.origin), *arguments]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does
    exec(code, new_main(str(spec.origin), spec.loader, spec).__dict__)  # noqa: S102
    return 0

"""Let the instruments follow into the Python processes that the subject starts.

The subject's environment tells them (`PYTHONPATH`, `VERIFYGATE_CHILDREN`), and Python itself starts
`startup/sitecustomize.py` in them. Each process that imports torch writes into a folder of its own, below `children`
of the run's folder. The environment names that folder and nothing that has to stay a secret: what vouches for the
results of tests is not in it. A process with an environment of its own making, one started with `-S`, `-I` or `-E`,
and one that is forked are not followed.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from .bootstrap import HERE
from .launch import TOLD, install, teller, when_imported

VARIABLE = "VERIFYGATE_CHILDREN"
FOLDER = "children"
MOST = 256
"""Processes of one run that record; those that come later go on without."""
STARTUP = str(HERE / "startup")


def follow(options: dict[str, Any]) -> None:
    """From here on, the Python processes that this one starts have the same instruments."""
    folder = Path(options["folder"], FOLDER)
    folder.mkdir(exist_ok=True)
    given = {"folder": str(folder), "root": options["root"], "instruments": options["instruments"], "section": ""}
    os.environ[VARIABLE] = json.dumps(given)
    others = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != STARTUP]
    os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *others])


def name_section(name: str) -> None:
    """Say which test starts the processes from here on, where they are followed."""
    if VARIABLE in os.environ:
        os.environ[VARIABLE] = json.dumps({**json.loads(os.environ[VARIABLE]), "section": name})


def begin(text: str) -> None:
    """In such a process: wait for torch, and install what the parent has."""
    given = json.loads(text)

    def now() -> None:
        started = Path(given["folder"])
        if sum(1 for _ in started.iterdir()) >= MOST:
            return
        own = started / f"{time.time_ns():020d}-{os.getpid()}"
        own.mkdir()
        tell = teller(own / TOLD)
        tell("child", section=given["section"])
        install({**given, "folder": str(own)}, tell)

    def safely() -> None:
        try:
            now()
        except OSError:
            pass  # the run is over and its folder is gone

    when_imported("torch", safely)

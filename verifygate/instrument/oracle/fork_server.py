"""Run many short runs of the project from one process: torch is imported once, and each run is a fork of that.

Usage: python bootstrap.py oracle.fork_server ORDERS.json. The orders are one object: `parallel`,
`preload` (modules that every run needs) and `jobs`. A job has `command` and `instruments` as launch.py has them, the
`folder` in which its `told.jsonl` will be, the `root` to run in, `seconds`, and `env`. All forks begin with the same
random state.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import launch

POLL_SECONDS = 0.01
SEED = 20260101


def main(arguments: Sequence[str]) -> int:
    """Run every job, `parallel` at a time."""
    orders = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    prepare(orders["preload"])
    waiting = list(reversed(orders["jobs"]))
    running: dict[int, tuple[dict[str, Any], float]] = {}
    while waiting or running:
        while waiting and len(running) < orders["parallel"]:
            job = waiting.pop()
            sys.stdout.flush()
            sys.stderr.flush()
            child = os.fork()
            if child == 0:
                _child(job)
            running[child] = (job, time.monotonic() + job["seconds"])
        _reap(running)
    return 0


def prepare(preload: list[str]) -> None:
    """Import what every run needs, and set the random state that every run begins with."""
    for name in ("torch", "torch._dynamo", "numpy", *preload):  # the first optimizer would load _dynamo, in each run
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # the run that needs it will say so
    random.seed(SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
        sys.modules["torch"].manual_seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    gc.collect()
    gc.freeze()  # a fork that looks for garbage among what all share would copy the pages it lies in


def _reap(running: dict[int, tuple[dict[str, Any], float]]) -> None:
    """Take leave of forks that ended, and end those whose time is over."""
    for child, (job, deadline) in list(running.items()):
        ended, status = os.waitpid(child, os.WNOHANG)
        late = time.monotonic() >= deadline
        if not ended and not late:
            continue
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            _tell(job, "killed", how="time")
        elif os.WIFSIGNALED(status):
            _tell(job, "killed", how=signal.Signals(os.WTERMSIG(status)).name)
        del running[child]
    time.sleep(POLL_SECONDS)


def _tell(job: dict[str, Any], event: str, **fields: object) -> None:
    launch.teller(Path(job["folder"], launch.TOLD))(event, **fields)


def _child(job: dict[str, Any]) -> None:
    """The fork: run the job as the launcher would. Never returns."""
    code = 1
    try:
        os.chdir(job["root"])
        os.environ.update(job["env"])
        sys.path.insert(0, job["root"])
        if Path(sources := f"{job['root']}/src").is_dir():
            sys.path.append(sources)  # where an editable installation of a project of this layout has its packages
        options = {"folder": job["folder"], "root": job["root"], "instruments": job["instruments"]}
        code = launch.main(["--options", json.dumps(options), "--", *job["command"]])
    except SystemExit as end:
        code = launch._exit_code(end)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # as the interpreter does
    finally:
        atexit._run_exitfuncs()  # what is registered there would run in a process of its own, too
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if 0 <= code < 256 else 1)

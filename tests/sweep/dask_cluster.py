"""A Dask scheduler with workers of one thread each, on the loopback of this machine."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

WAIT_SECONDS = 120
Process = subprocess.Popen[bytes]


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[Process]]]:
    """The address of the scheduler, and its workers. They are killed at the end; their files lie in `folder`."""
    with ExitStack() as stack:
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        address = _address_in(stack.enter_context(_process("distributed.cli.dask_scheduler", *options)))
        options = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
        started = [stack.enter_context(_process("distributed.cli.dask_worker", *options)) for _ in range(workers)]
        yield address, started


@contextmanager
def _process(module: str, *words: str) -> Iterator[Process]:
    command = [sys.executable, "-m", module, *words]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ))
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def _address_in(log: Process) -> str:
    """The address that a scheduler says it listens at."""
    assert log.stderr is not None
    said, end = "", time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if select.select([log.stderr], [], [], 1)[0]:
            said += os.read(log.stderr.fileno(), 65536).decode()
            if found := re.search(r"Scheduler at:\s+(tcp://\S+)", said):
                return found[1]
    raise AssertionError(said)

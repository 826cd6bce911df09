"""A sweep on a real scheduler with two workers, of which one is killed midway: no unit is lost, none is doubled."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from verifygate.base.errors import UsageError
from verifygate.model.sweep_report import Answer
from verifygate.sweep import executors
from verifygate.sweep.schedule import Answered, answer_all
from verifygate.sweep.units import Unit

UNITS = 24
WAIT_SECONDS = 120


@contextmanager
def process(module: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", module, *words]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ))
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def address_in(log: subprocess.Popen[bytes]) -> str:
    """The address that a scheduler says it listens at."""
    assert log.stderr is not None
    said, end = "", time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if select.select([log.stderr], [], [], 1)[0]:
            said += os.read(log.stderr.fileno(), 65536).decode()
            if found := re.search(r"Scheduler at:\s+(tcp://\S+)", said):
                return found[1]
    raise AssertionError(said)


@pytest.mark.slow
def test_a_killed_worker_loses_and_doubles_nothing(tmp_path: Path):
    units = []
    for number in range(UNITS):
        (tmp_path / f"u{number}").mkdir()
        (tmp_path / f"u{number}" / "train.py").write_text(f"import torch\nnumber = {number}\n", encoding="utf-8")
        units.append(Unit(f"u{number}", str(tmp_path / f"u{number}")))
    with ExitStack() as stack:
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        scheduler = stack.enter_context(process("distributed.cli.dask_scheduler", *options))
        address = address_in(scheduler)
        options = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
        workers = [stack.enter_context(process("distributed.cli.dask_worker", *options)) for _ in range(2)]
        told: list[str] = []

        def tell(answered: Answered, number: int) -> None:
            told.append(answered.unit.name)
            if number == UNITS // 4:
                workers[0].send_signal(signal.SIGKILL)

        rows = answer_all(units, executors.dask(address), {}, tell)
        assert workers[0].wait(WAIT_SECONDS) == -signal.SIGKILL
    assert [row.name for row in rows] == [unit.name for unit in units]
    assert sorted(told) == sorted(unit.name for unit in units)
    assert {row.answer for row in rows} == {Answer.PASS}


@pytest.mark.slow
def test_nobody_at_the_address_is_one_line():
    with pytest.raises(UsageError, match="no scheduler answers there"):
        answer_all([Unit("u", "/")], executors.dask("tcp://127.0.0.1:9"), {}, lambda *_: None)

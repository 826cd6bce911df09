"""A sweep on a real scheduler with two workers, of which one is killed midway: no unit is lost, none is doubled."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from dask_cluster import WAIT_SECONDS, cluster

from verifygate.base.errors import UsageError
from verifygate.model.sweep_report import Answer
from verifygate.sweep import executors
from verifygate.sweep.schedule import Answered, answer_all
from verifygate.sweep.units import Unit

UNITS = 24


@pytest.mark.slow
def test_a_killed_worker_loses_and_doubles_nothing(tmp_path: Path):
    units = []
    for number in range(UNITS):
        (tmp_path / f"u{number}").mkdir()
        (tmp_path / f"u{number}" / "train.py").write_text(f"import torch\nnumber = {number}\n", encoding="utf-8")
        units.append(Unit(f"u{number}", str(tmp_path / f"u{number}")))
    told: list[str] = []
    with cluster(tmp_path) as (address, workers):

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

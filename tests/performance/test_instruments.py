"""What is measured inside a step, on real torch: storages at the peak, waits of the host, data time, lines, dtypes."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from verifygate.instrument.bench import step_time, storages
from verifygate.instrument.bench.host_syncs import HostWaits
from verifygate.instrument.bench.operator_profile import MatrixWork, profiled
from verifygate.instrument.bench.step_time import DataTime, LineClock
from verifygate.instrument.bench.storages import StorageWatch, standing_bytes

WIDTH, BATCH = 32, 256


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests of this process left behind (Lightning keeps its last model) is none of these trainings."""
    found = storages.alive
    others = {id(each): each for kind in (torch.nn.Module, torch.optim.Optimizer) for each in found(kind)}
    monkeypatch.setattr(storages, "alive", lambda kind: [each for each in found(kind) if id(each) not in others])


class Training:
    """Two linear layers under AdamW; every size is known on paper."""

    def __init__(self, dtype: torch.dtype | None = None, batch: int = BATCH) -> None:
        self.model = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH, bias=False)
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.data = torch.randn(20 * batch, WIDTH)
        self.dtype, self.batch = dtype, batch
        self.seen = 0

    def step(self) -> None:
        batch = self.data[self.seen : self.seen + self.batch]
        self.seen += self.batch
        with torch.autocast("cpu", dtype=self.dtype, enabled=self.dtype is not None):
            loss = self.model(batch).float().square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    @property
    def parameter_bytes(self) -> int:
        return sum(parameter.numel() * 4 for parameter in self.model.parameters())


def anatomy_of(training: Training) -> dict[str, Any]:
    gc.collect()  # what an earlier training left behind is alive as well
    training.step()
    watch = StorageWatch("cpu")
    with watch.watching():
        for _ in range(2):
            watch.begin()
            training.step()
    return watch.anatomy()


def bytes_of(anatomy: dict[str, Any], kind: str) -> int:
    return next(part["bytes"] for part in anatomy["parts"] if part["kind"] == kind)


def test_the_anatomy_is_what_paper_says() -> None:
    """With a small batch the peak is in the optimizer's step: all gradients are there, and no activation is left.

    The data set, of which each batch is a view, is no memory of a step.
    """
    training = Training(batch=16)
    anatomy = anatomy_of(training)
    assert bytes_of(anatomy, "parameters") == training.parameter_bytes
    assert bytes_of(anatomy, "optimizer state") == 2 * training.parameter_bytes + 2 * 4
    assert bytes_of(anatomy, "gradients") == training.parameter_bytes
    assert bytes_of(anatomy, "weight casts") == bytes_of(anatomy, "activations") == 0
    assert anatomy["phase"] == "the optimizer's step"
    assert anatomy["peak"] == sum(part["bytes"] for part in anatomy["parts"])
    assert bytes_of(anatomy, "other") < training.data.nbytes


def test_autocast_adds_copies_of_weights_and_halves_activations() -> None:
    """Under bf16 the second weight has a copy at half its size; the first one's is not needed by the backward."""
    half, full = anatomy_of(Training(torch.bfloat16)), anatomy_of(Training())
    assert bytes_of(half, "weight casts") == WIDTH * WIDTH * 2
    assert half["phase"] == full["phase"] == "the backward"
    assert bytes_of(half, "parameters") == bytes_of(full, "parameters")
    wide = {part["kind"]: part["wide"] for part in half["parts"]}
    assert wide["weight casts"] == 0


def test_the_allocator_agrees() -> None:
    """The profiler's memory events, which know nothing of storages, give the same peak."""
    training = Training()
    training.step()
    before = standing_bytes("cpu")
    assert before == 3 * training.parameter_bytes + 2 * 4
    peak = profiled(training.step, 1, lambda: None, "cpu")["peak"]
    assert before + peak == pytest.approx(anatomy_of(training)["peak"], rel=0.02)


@pytest.mark.parametrize(
    ("keep", "grows"),
    [
        (lambda kept, loss: kept.append(loss), True),
        (lambda kept, loss: kept.append(loss.item()), False),
        (lambda *_: None, False),
    ],
    ids=["graph", "number", "nothing"],
)
def test_graphs_that_are_kept_are_seen(keep: Any, grows: bool) -> None:
    """A graph that only C++ holds stays counted, and is gone with the list that held it."""
    training, kept, sizes = Training(), [], []
    watch = StorageWatch("cpu")
    with watch.watching():
        for _ in range(4):
            keep(kept, training.model(training.data[:BATCH]).square().mean())
            sizes.append(watch.bytes)
        if grows:
            assert sizes == sorted(set(sizes))
            assert sizes[3] - sizes[2] == sizes[2] - sizes[1] > BATCH * WIDTH * 4
        else:
            assert len(set(sizes)) == 1
        kept.clear()
        assert watch.bytes <= sizes[0]


def test_waits_of_the_host_with_their_lines() -> None:
    """item, bool, a mask and a literal "cpu" count; a device in a variable and AdamW's counters do not."""
    training = Training()
    training.step()
    device = torch.device("cpu")
    with HostWaits("cpu") as waits:
        training.step()  # AdamW reads its step counters, which lie on the host
        loss = training.model(training.data[:BATCH]).square().mean()
        first = sys._getframe().f_lineno + 1
        loss.item()
        if loss > 0:
            training.data[training.data > 0]
        loss.to("cpu")
        loss.to(device)
    seen = {(path.rpartition("/")[2], line - first, what) for (path, line), what in waits.count}
    assert seen == {
        ("test_instruments.py", 0, "item()"),
        ("test_instruments.py", 1, "bool()"),
        ("test_instruments.py", 2, "indexing by a mask"),
        ("test_instruments.py", 3, "to(cpu)"),
    }


def test_the_time_before_a_forward_is_data_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes before the forward counts, what passes after it does not; a DataLoader is timed by itself."""
    now = [0.0]
    monkeypatch.setattr(step_time, "clock", lambda: now[0])

    class Slow(torch.utils.data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            now[0] += 1
            return torch.zeros(2)

    model = torch.nn.Linear(2, 1)
    loader = iter(DataLoader(Slow(), batch_size=4))
    data = DataTime(lambda: None)
    with data.watching():
        data.begin()
        now[0] += 10
        loss = model(next(loader)).sum()
        now[0] += 100
        loss.backward()
    assert (data.seconds, data.loader_seconds) == (14, 4)
    assert (data.forwards, data.loads) == (1, 1)
    data.begin()
    next(loader)
    assert data.loads == 0  # nothing is watched any more


def slow_line() -> int:
    total = 0
    time.sleep(0.02)
    total += 1
    return total


def test_the_cost_of_a_line() -> None:
    """The seconds of one statement, wherever it lies, and how often it is passed."""
    first = slow_line.__code__.co_firstlineno
    watch = LineClock(Path(__file__).parent, [(Path(__file__).name, first + 2, first + 2), ("none.py", 1, 1)])
    with watch.watching():
        slow_line()
        slow_line()
    assert watch.passes == [2, 0]
    assert watch.seconds[0] >= 0.04
    assert watch.seconds[1] == 0
    assert sys.gettrace() is None or not isinstance(getattr(sys.gettrace(), "__self__", None), LineClock)


def test_matrix_work_and_operators_know_their_dtype() -> None:
    """FLOPs by torch's formulas: 2 for each multiply-add of a linear layer's forward, twice that in the backward."""
    training = Training(torch.bfloat16)
    training.step()
    with MatrixWork() as work:
        training.step()
    one = 2 * BATCH * WIDTH * WIDTH
    assert dict(work.flops) == {"bfloat16": one * 5}  # two forwards, two weights' gradients, one input's
    seen = profiled(training.step, 2, lambda: None, "cpu")
    matrix = next(each for each in seen["operators"] if each["name"] == "aten::mm")
    assert (matrix["dtype"], matrix["calls"]) == ("bfloat16", 5)
    assert sum(each["share"] for each in seen["operators"]) <= 1.0001
    assert seen["busy"] is None

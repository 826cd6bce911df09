"""Memory that is predicted with fake tensors: to the byte what the same steps hold when they are computed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.instrument.bench import storages
from verifygate.model import Anatomy, MemoryPart, Profile, Status
from verifygate.performance.prediction import check, measurements, predict

torch = pytest.importorskip("torch")
from verifygate.config.performance import PerformanceSettings  # noqa: E402
from verifygate.instrument.bench.predict_memory import predicted  # noqa: E402
from verifygate.process.subject import Subject  # noqa: E402

WORKLOAD = """
import torch


class Workload:
    samples_per_step, effective_steps = 8, 0

    def __init__(self, precision, device):
        layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
        self.model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.half, self.device = precision != "fp32", device

    def step(self):
        inputs = torch.randn(8, 16, 32, device=self.device)
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.half):
            loss = self.model(inputs).float().pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        DECIDE
        return loss.item()

    def evaluate(self):
        return [1.0]


def build(precision, seed, device):
    return Workload(precision, device)
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests of this process left behind is none of these trainings."""
    found = storages.alive
    others = {id(each): each for kind in (torch.nn.Module, torch.optim.Optimizer) for each in found(kind)}
    monkeypatch.setattr(storages, "alive", lambda kind: [each for each in found(kind) if id(each) not in others])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_prediction_is_what_is_held(precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied modules, an optimizer's state, autocast's copies of weights and what autograd saves: all of it."""
    name = f"predicted_{precision}"
    (tmp_path / f"{name}.py").write_text(WORKLOAD.replace("DECIDE", "pass"))
    monkeypatch.syspath_prepend(tmp_path)
    told = predicted(torch, {"workload": f"{name}:build", "precision": precision, "seed": 0})

    workload = sys.modules[name].build(precision, 0, "cpu")
    workload.step()
    watch = storages.StorageWatch("cpu")
    with watch.watching():
        watch.begin()
        workload.step()
    assert told["anatomy"] == watch.anatomy()
    assert told["read"] > 0


def test_the_usual_tensors_are_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "predicted_once.py").write_text(WORKLOAD.replace("DECIDE", "pass"))
    monkeypatch.syspath_prepend(tmp_path)
    usual = torch.Tensor.item, torch.Tensor.__deepcopy__, torch.nn.Module.to
    predicted(torch, {"workload": "predicted_once:build", "precision": "fp32", "seed": 0})
    assert (torch.Tensor.item, torch.Tensor.__deepcopy__, torch.nn.Module.to) == usual


@pytest.mark.slow
def test_a_program_that_asks_for_values_is_not_predicted(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(WORKLOAD.replace("DECIDE", "assert torch.isfinite(loss).all()"))
    told = predict(Subject(tmp_path, Path(sys.executable)), PerformanceSettings(workload="asks:build"), lambda _: None)
    assert all(each.reason.startswith("it does not run with fake tensors") for each in told)
    (share,) = measurements(told, bound=True)
    assert share.status is Status.NOT_MEASURED
    assert check(told, 0.4).status is Status.NOT_MEASURED


def profiles(activations: int, half: int) -> tuple[Profile, ...]:
    def profile(arm: str, size: int) -> Profile:
        parts = (
            MemoryPart(kind="parameters", bytes=100, wide=100),
            MemoryPart(kind="activations", bytes=size, wide=size),
        )
        return Profile(arm=arm, anatomy=Anatomy(peak=100 + size, at="", phase="the forward", parts=parts))

    return profile("fp32", activations), profile("bf16", half)


@pytest.mark.parametrize(
    ("activations", "half", "status", "said"),
    [
        (100, 60, Status.FAIL, "not attainable: 25.0% at the most, and 20.0% is predicted"),
        (900, 500, Status.PASS, "attainable: 40.0% is predicted, and 45.0% is the most there is"),
        (900, 600, Status.PARTIAL, "30.0% is predicted of the program as it is; 45.0% is the most there is"),
    ],
)
def test_a_target_of_memory_is_judged_before_anything_is_measured(
    activations: int, half: int, status: Status, said: str
) -> None:
    told = check(profiles(activations, half), 0.4)
    assert (told.status, told.actual, told.required) == (status, said, False)


def test_without_a_target_there_is_only_a_figure() -> None:
    told = profiles(900, 500)
    assert check(told, None).status is Status.NOT_APPLICABLE
    assert [(each.id, each.value) for each in measurements(told, bound=True)] == [
        ("memory-predicted", pytest.approx(0.4)),
        ("memory-attainable", pytest.approx(0.45)),
    ]

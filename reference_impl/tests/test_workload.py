"""What a benchmark relies on: arms that can be paired, counts that can be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from reference_impl.config import Config, read_config
from reference_impl.errors import PrecisionUnavailableError
from reference_impl.precision import choose_precision
from reference_impl.train import take_threads, train
from reference_impl.workload import Workload, build


def small(precision: str) -> Workload:
    """A quarter of the usual window: a CPU without half-precision units takes six times as long in bf16 and fp16."""
    cfg = Config(precision=precision, seed=1, device="cpu", train_items=12_800, batch_size=16, eval_items=500)
    return Workload(cfg, choose_precision("cpu", precision))


@pytest.fixture(scope="module")
def trained() -> dict[str, Workload]:
    """Forty steps in each precision, all from the same seed."""
    workloads = {name: small(name) for name in ("fp32", "bf16", "fp16")}
    for workload in workloads.values():
        for _ in range(40):
            workload.step()
    return workloads


@pytest.mark.requirement("AMP-06")
def test_forty_steps_are_far_above_chance_and_half_precision_keeps_up(trained: dict[str, Workload]) -> None:
    scores = {name: workload.evaluate() for name, workload in trained.items()}
    accuracy = {name: sum(score) / len(score) for name, score in scores.items()}
    assert all(len(score) == 500 and set(score) == {0.0, 1.0} for score in scores.values())
    assert accuracy["fp32"] > 0.2  # chance is below 0.001
    assert accuracy["bf16"] > accuracy["fp32"] - 0.1
    assert accuracy["fp16"] > accuracy["fp32"] - 0.1


def test_all_arms_drew_the_same_batches(trained: dict[str, Workload]) -> None:
    assert len({workload.data_digest() for workload in trained.values()}) == 1
    assert len(trained["fp32"].data_digest()) == 64
    fresh = small("fp32")
    assert fresh.data_digest() != trained["fp32"].data_digest()


def test_the_digest_follows_the_seed_and_the_count() -> None:
    def after_a_step(seed: int) -> str:
        workload = build("fp32", seed=seed)
        workload.step()
        return workload.data_digest()

    assert after_a_step(1) == after_a_step(1) != after_a_step(2)


def test_the_digest_follows_the_order() -> None:
    """The same batches drawn in another order are other data."""
    forth, back = small("fp32"), small("fp32")
    windows = [forth.data.window(n) for n in (0, 1)]
    for workload, order in ((forth, windows), (back, windows[::-1])):
        draws = iter(order)
        workload.data.window = lambda _n, draws=draws: next(draws)  # type: ignore[method-assign]
        workload.step()
        workload.step()
    assert forth.data_digest() != back.data_digest()


@pytest.mark.parametrize(("precision", "scale"), [("fp32", 1.0), ("bf16", 1.0), ("fp16", 65536.0)])
def test_a_step_shows_its_loss_and_the_scale(precision: str, scale: float) -> None:
    """The loss is a tensor that nobody has read yet: reading it is what would wait for a device."""
    workload = small(precision)
    loss = workload.step()
    assert loss.shape == ()
    assert not loss.requires_grad
    assert 0 < float(loss) < 10
    assert workload.loss_scale == scale


def test_the_same_seed_trains_the_same_weights() -> None:
    first, second = build("bf16", seed=3), build("bf16", seed=3)
    for _ in range(3):
        first.step()
        second.step()
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_counts(trained: dict[str, Workload]) -> None:
    for workload in trained.values():
        assert (workload.effective_steps, workload.skipped) == (40, 0)
        assert workload.samples_per_step == 32
        assert workload.parameter_bytes() == 4 * sum(p.numel() for p in workload.model.parameters())
        assert {len(workload.data.window(n)) for n in range(workload.data.windows_per_epoch)} == {2}


@pytest.mark.requirement("EDGE-03")
def test_a_skipped_step_is_counted_as_skipped() -> None:
    workload = build("fp16", seed=1)
    workload.model.token.weight.register_hook(lambda gradient: gradient * float("inf"))
    workload.step()
    assert (workload.effective_steps, workload.skipped) == (0, 1)
    assert workload.scheduler.last_epoch == 0


def test_it_takes_the_same_steps_as_training(tmp_path: object) -> None:
    size = Path(__file__).parents[1] / "configs" / "bench_cpu.toml"
    train(read_config([str(size), "--device=cpu", "--seed=5", "--stop_at=3", f"--out_dir={tmp_path}"]))
    workload = build("fp32", seed=5)
    for _ in range(3):
        workload.step()
    trained = torch.load(f"{tmp_path}/checkpoint.pt", weights_only=True)["model"]
    assert all(torch.equal(trained[name], tensor) for name, tensor in workload.model.state_dict().items())


def test_the_size_for_a_cpu_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices lose by a second thread; a configuration that says nothing leaves torch's own number."""
    taken: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    build("fp32", seed=1)
    take_threads(Config())
    assert taken == [1]


def test_a_missing_device_is_an_error_never_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PrecisionUnavailableError):
        build("bf16", seed=1, device="cuda")

"""The seven lines: what each of them is there for, and what an overflow must and must not do."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor, nn

from reference_impl import train
from reference_impl.errors import NonFiniteError, ScaleCollapsedError
from reference_impl.tests.conftest import Loop
from reference_impl.train import make_scheduler

MakeLoop = Callable[..., Loop]
PRECISIONS = ["fp32", "bf16", "fp16"]


def poison_gradients(model: nn.Module, value: float) -> None:
    """Make one element of every later gradient `value`, as an overflow in backward would."""

    def poison(gradient: Tensor) -> Tensor:
        gradient = gradient.clone()
        gradient.view(-1)[0] = value
        return gradient

    next(model.parameters()).register_hook(poison)


@pytest.mark.requirement("AMP-01")
@pytest.mark.requirement("AMP-03")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_calls_come_in_order_and_are_the_same_in_every_precision(
    make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    loop, calls = make_loop(precision), Mock()
    for owner, name in [(loop.scaler, "scale"), (loop.scaler, "unscale_"), (nn.utils, "clip_grad_norm_"),
                        (loop.scaler, "step"), (loop.scaler, "update"), (loop.optimizer, "zero_grad")]:  # fmt: skip
        spy = Mock(side_effect=getattr(owner, name))
        calls.attach_mock(spy, name)
        monkeypatch.setattr(owner, name, spy)
    loop.step(loop.data.window(0))
    names = [name for name, _, _ in calls.mock_calls if "." not in name]
    assert loop.scaler.is_enabled() == (precision == "fp16")
    assert names == ["scale", "scale", "unscale_", "clip_grad_norm_", "step", "update", "zero_grad"]
    assert all(p.grad is None for p in loop.model.parameters())


@pytest.mark.requirement("AMP-02")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_forward_and_loss_run_inside_autocast_and_backward_outside(make_loop: MakeLoop, precision: str) -> None:
    loop = make_loop(precision)
    seen: dict[str, tuple[bool, torch.dtype]] = {}

    def watch(name: str, tensor: Tensor) -> None:
        seen[name] = (torch.is_autocast_enabled("cpu"), tensor.dtype)

    loop.model.head.register_forward_hook(lambda _module, _inputs, logits: watch("logits", logits))
    loop.model.register_forward_hook(lambda _module, _inputs, loss: watch("loss", loss))
    loop.model.head.weight.register_hook(lambda gradient: watch("gradient", gradient))
    loop.step(loop.data.window(0))
    on = precision != "fp32"
    assert seen["logits"] == (on, loop.precision.dtype)
    assert seen["loss"] == (on, torch.float32)
    assert seen["gradient"] == (False, torch.float32)


@pytest.mark.requirement("DATA-02")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_parameters_gradients_and_moments_stay_fp32(make_loop: MakeLoop, precision: str) -> None:
    loop = make_loop(precision)
    gradients = []
    for parameter in loop.model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: gradients.append(p.grad.dtype))  # type: ignore[union-attr]
    loop.step(loop.data.window(0))
    moments = [value for state in loop.optimizer.state.values() for value in state.values()]
    assert gradients
    assert moments
    assert {p.dtype for p in loop.model.parameters()} | set(gradients) | {m.dtype for m in moments} == {torch.float32}


@pytest.mark.requirement("AMP-03")
@pytest.mark.requirement("DATA-01")
def test_clipping_sees_unscaled_gradients(make_loop: MakeLoop) -> None:
    norms = {}
    for precision, scale in [("fp32", 1.0), ("fp16", 2.0**8), ("fp16", 2.0**14)]:
        loop = make_loop(precision, init_scale=scale)
        norms[precision, scale] = loop.step(loop.data.window(0)).grad_norm.item()
    assert norms["fp16", 2.0**8] == pytest.approx(norms["fp32", 1.0], rel=0.01)
    assert norms["fp16", 2.0**14] == pytest.approx(norms["fp32", 1.0], rel=0.01)


@pytest.mark.requirement("AMP-03")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_update_is_as_long_as_the_clip_allows(make_loop: MakeLoop, precision: str) -> None:
    loop = make_loop(precision, grad_clip=0.05)
    loop.optimizer = torch.optim.SGD(loop.model.parameters(), lr=1.0)
    before = loop.weights()
    result = loop.step(loop.data.window(0))
    moved = torch.stack([(value - before[name]).norm() for name, value in loop.model.state_dict().items()]).norm()
    assert result.grad_norm > 0.5
    assert moved.item() == pytest.approx(0.05, rel=1e-3)


@pytest.mark.requirement("DATA-01")
def test_the_scale_cancels_exactly(make_loop: MakeLoop) -> None:
    """With bf16 in place of fp16, whose range a power of two cannot leave, weights and losses agree to the last bit."""
    ends, losses = [], []
    for scale in (2.0**8, 2.0**16):
        loop = make_loop("bf16")
        loop.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        results = [loop.step(loop.data.window(n)) for n in range(5)]
        assert not any(result.skipped for result in results)
        losses.append([result.loss.item() for result in results])
        ends.append(loop.weights())
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
    assert losses[0] == losses[1]  # what is reported is the loss, not the scaled one


@pytest.mark.requirement("AMP-01")
@pytest.mark.requirement("EDGE-03")
def test_scaling_saves_gradients_that_half_precision_would_flush_to_zero(make_loop: MakeLoop) -> None:
    survivors = {}
    for scale in (1.0, 65536.0):
        loop = make_loop("fp16", init_scale=scale)
        loop.model.register_forward_hook(lambda _module, _inputs, loss: loss * 1e-7)
        kept: list[Tensor] = []
        loop.model.blocks[0].up.weight.register_hook(lambda gradient, kept=kept: kept.append(gradient != 0))
        loop.step(loop.data.window(0))
        survivors[scale] = torch.stack(kept).float().mean().item()
    assert survivors[1.0] < 0.1
    assert survivors[65536.0] > 0.8


@pytest.mark.parametrize("precision", PRECISIONS)
def test_accumulated_micro_batches_equal_one_large_batch(make_loop: MakeLoop, precision: str) -> None:
    loop, whole = make_loop(precision), make_loop(precision)
    window = loop.data.window(0)
    tokens, targets = (torch.cat(part) for part in zip(*window, strict=True))
    parts = loop.step(window)
    once = whole.step([(tokens, targets)])
    tolerance = 1e-5 if precision == "fp32" else 1e-2
    assert len(window) == 2
    assert parts.loss.item() == pytest.approx(once.loss.item(), rel=tolerance)
    assert parts.grad_norm.item() == pytest.approx(once.grad_norm.item(), rel=tolerance)


def test_a_short_last_window_is_divided_by_its_own_size(make_loop: MakeLoop) -> None:
    loop, plain = make_loop(), make_loop()
    (batch,) = loop.data.window(3)  # 7 micro-batches in windows of two: the fourth has one
    loss = plain.model(*batch)
    loss.backward()
    norm = nn.utils.get_total_norm([p.grad for p in plain.model.parameters() if p.grad is not None])
    result = loop.step([batch])
    assert result.loss.item() == pytest.approx(loss.item())
    assert result.grad_norm.item() == pytest.approx(norm.item())


# ---------------------------------------------------------------------------------------------------------------------
# When numbers break


@pytest.mark.requirement("EDGE-03")
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_fp16_skips_a_step_whose_gradients_overflow(make_loop: MakeLoop, value: float) -> None:
    loop = make_loop("fp16")
    assert not loop.step(loop.data.window(0)).skipped
    before, moments = loop.weights(), loop.optimizer.state_dict()["state"][0]["exp_avg"].clone()
    poison_gradients(loop.model, value)
    result = loop.step(loop.data.window(1))
    assert result.skipped
    assert not torch.isfinite(result.grad_norm)
    assert loop.scaler.get_scale() == 32768.0
    assert all(torch.equal(before[name], tensor) for name, tensor in loop.model.state_dict().items())
    assert torch.equal(moments, loop.optimizer.state_dict()["state"][0]["exp_avg"])


@pytest.mark.requirement("EDGE-03")
def test_fp16_goes_on_after_a_skip(make_loop: MakeLoop) -> None:
    loop = make_loop("fp16", init_scale=2.0**40)  # overflows by itself until the scale has come down
    skips = [loop.step(loop.data.window(n)).skipped for n in range(40)]
    assert skips[0]
    assert not all(skips)
    assert loop.scaler.get_scale() == 2.0 ** (40 - sum(skips))
    assert all(torch.isfinite(p).all() for p in loop.model.parameters())


@pytest.mark.requirement("EDGE-03")
def test_a_scale_that_collapses_is_an_error_long_before_it_is_zero(make_loop: MakeLoop) -> None:
    loop = make_loop("fp16", min_scale=16.0)
    poison_gradients(loop.model, float("inf"))
    before, steps = loop.weights(), 0
    while steps < 200 and loop.scaler.get_scale() > 16.0:
        assert loop.step(loop.data.window(steps)).skipped
        steps += 1
    assert steps == 12  # 2^16 halved down to 2^4; the next one is too many
    with pytest.raises(ScaleCollapsedError, match="fell to 8, below min_scale = 16"):
        loop.step(loop.data.window(steps))
    assert all(torch.equal(before[name], tensor) for name, tensor in loop.model.state_dict().items())


@pytest.mark.requirement("EDGE-04")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_without_a_scaler_a_broken_gradient_stops_the_run_before_the_weights_move(
    make_loop: MakeLoop, precision: str, value: float
) -> None:
    loop = make_loop(precision)
    before = loop.weights()
    poison_gradients(loop.model, value)
    with pytest.raises(NonFiniteError, match="stopped before the optimizer moved"):
        loop.step(loop.data.window(0))
    assert all(torch.equal(before[name], tensor) for name, tensor in loop.model.state_dict().items())


@pytest.mark.requirement("EDGE-04")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_nan_loss_never_reaches_the_weights(make_loop: MakeLoop, precision: str) -> None:
    loop = make_loop(precision)
    before = loop.weights()
    loop.model.register_forward_hook(lambda _module, _inputs, loss: loss * float("nan"))
    if precision == "fp16":
        assert loop.step(loop.data.window(0)).skipped
    else:
        with pytest.raises(NonFiniteError, match="loss nan"):
            loop.step(loop.data.window(0))
    assert all(torch.equal(before[name], tensor) for name, tensor in loop.model.state_dict().items())


@pytest.mark.requirement("EDGE-04")
def test_an_infinite_loss_with_finite_gradients_stops_the_run_too(make_loop: MakeLoop) -> None:
    loop = make_loop("fp32")
    loop.model.register_forward_hook(lambda _module, _inputs, loss: loss + float("inf"))
    with pytest.raises(NonFiniteError, match=r"loss inf, gradient norm [0-9.]+"):
        loop.step(loop.data.window(0))


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_the_fused_optimizer_takes_the_same_steps(make_loop: MakeLoop, precision: str) -> None:
    """The scaler hands scale and overflow to a fused optimizer itself; the gradients are unscaled once all the same."""
    plain, fused = make_loop(precision, fused=False), make_loop(precision, fused=True)
    for loop in (plain, fused):
        for number in range(4):
            assert not loop.step(loop.data.window(number)).skipped
    assert all(torch.allclose(fused.weights()[name], tensor, atol=1e-5) for name, tensor in plain.weights().items())


@pytest.mark.requirement("EDGE-03")
def test_the_fused_optimizer_skips_an_overflow_too(make_loop: MakeLoop) -> None:
    loop = make_loop("fp16", fused=True, init_scale=2.0**40)
    before = loop.weights()
    assert loop.step(loop.data.window(0)).skipped
    assert all(torch.equal(before[name], tensor) for name, tensor in loop.weights().items())


def test_a_compiled_model_trains_and_the_checkpoint_is_the_plain_one(
    small: Callable[..., train.Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What torch.compile gives is what the step calls; the file on disk can be read without it."""
    calls = []

    class Compiled(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self._orig_mod = inner

        def forward(self, *batch: torch.Tensor) -> torch.Tensor:
            calls.append(batch)
            loss: torch.Tensor = self._orig_mod(*batch)
            return loss

    monkeypatch.setattr(torch, "compile", Compiled)
    cfg = small(compile=True, steps=3)
    assert train.train(cfg).step == 3
    assert len(calls) == 3 * cfg.accumulation
    saved = torch.load(f"{cfg.out_dir}/checkpoint.pt", weights_only=True)["model"]
    assert "token.weight" in saved
    assert not any("_orig_mod" in name for name in saved)


@pytest.mark.gpu
@pytest.mark.requirement("AMP-08")
def test_fp16_trains_and_skips_on_a_real_gpu(small: Callable[..., train.Config]) -> None:
    result = train.train(small(device="cuda", precision="fp16", steps=20, width=64, init_scale=2.0**32))
    assert result.step == 20
    assert result.skipped > 0


# ---------------------------------------------------------------------------------------------------------------------
# The schedule


def test_the_learning_rate_warms_up_and_decays_to_a_tenth(make_loop: MakeLoop) -> None:
    loop = make_loop(steps=20, warmup=4, learning_rate=1.0)
    scheduler = make_scheduler(loop.optimizer, loop.cfg)
    rates = []
    for _ in range(25):
        rates.append(scheduler.get_last_lr()[0])
        loop.optimizer.step()
        scheduler.step()
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rates[5:20] == sorted(rates[5:20], reverse=True)
    assert rates[20:] == [pytest.approx(0.1)] * 5


@pytest.mark.requirement("EDGE-03")
def test_a_skipped_step_moves_neither_schedule_nor_step_count(
    small: Callable[..., train.Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, overflows = train.train_step, {1, 4}
    rates, calls = [], 0

    def with_overflows(model: nn.Module, optimizer: torch.optim.Optimizer, *rest: object) -> train.StepResult:
        nonlocal calls
        rates.append(optimizer.param_groups[0]["lr"])
        broken = next(model.parameters()).register_hook(lambda g: g * float("inf")) if calls in overflows else None
        calls += 1
        result = real(model, optimizer, *rest)  # type: ignore[arg-type]
        if broken is not None:
            broken.remove()
        return result

    monkeypatch.setattr(train, "train_step", with_overflows)
    result = train.train(small(precision="fp16", steps=6))
    assert (result.step, result.skipped, calls) == (6, 2, 8)
    assert rates[2] == rates[1]
    assert rates[5] == rates[4]
    assert len(set(rates)) == 5  # warm-up over two steps and the peak twice, then down

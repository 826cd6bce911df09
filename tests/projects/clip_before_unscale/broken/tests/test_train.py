"""Tests of a training run as a whole: AdamW hides the size of the gradients, so they pass in either order."""

from dataclasses import replace

import pytest
import torch

from train import CHARS, Config, get_batch, get_lr, train

torch.set_num_threads(1)  # threads only get in each other's way with a model this small
QUICK = Config(max_iters=25)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_loss_falls(dtype):
    entries = []
    train(replace(QUICK, dtype=dtype), entries.append)
    assert len(entries) == QUICK.max_iters
    assert entries[-1]["loss"] < 0.8 * entries[0]["loss"]


def test_the_loss_scale_is_logged_at_every_step():
    entries = []
    train(replace(QUICK, max_iters=3), entries.append)
    assert len(entries) == 3
    assert all(entry["amp/loss_scale"] > 1.0 for entry in entries)


def test_amp_can_be_switched_off():
    entries = []
    train(replace(QUICK, max_iters=2, dtype="float32"), entries.append)
    assert [entry["amp/loss_scale"] for entry in entries] == [1.0, 1.0]


def test_weights_stay_float32():
    model = train(replace(QUICK, max_iters=1))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_targets_are_the_inputs_one_character_on():
    x, y = get_batch(QUICK, torch.Generator().manual_seed(0), "cpu")
    assert x.shape == y.shape == (QUICK.batch_size, QUICK.block_size)
    assert torch.equal(x[:, 1:], y[:, :-1])
    assert int(y.max()) < len(CHARS)


def test_the_learning_rate_warms_up_and_decays():
    rates = [get_lr(it, QUICK) for it in range(QUICK.max_iters + 1)]
    peak = rates.index(max(rates))
    assert peak == QUICK.warmup_iters
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] == pytest.approx(QUICK.min_lr)

"""Tests of the training program: the schedule, what is learned, and in which precision."""

from dataclasses import replace

import pytest
import torch

from train import Config, accuracy, classifier, learning_rate, rings, train

torch.set_num_threads(1)  # threads only get in each other's way with a model this small


@pytest.mark.parametrize("use_amp", [True, False])
def test_training_separates_the_rings(use_amp):
    run = train(replace(Config(), use_amp=use_amp))
    assert accuracy(run.model) > 0.9
    assert run.losses[-1] < run.losses[0] / 2


def test_an_untrained_model_guesses():
    torch.manual_seed(0)
    assert accuracy(classifier()) == pytest.approx(0.5, abs=0.2)


def test_rings_lie_around_the_origin():
    points, outer = rings(2000, torch.Generator().manual_seed(0))
    radius = points.norm(dim=1)
    assert float(radius[outer == 1].mean()) == pytest.approx(2.0, abs=0.05)
    assert float(radius[outer == 0].mean()) == pytest.approx(1.0, abs=0.05)


def test_the_warm_up_rises_from_above_zero_to_the_peak():
    config = Config(warmup_steps=4)
    rates = [learning_rate(step, config) for step in range(config.warmup_steps)]
    assert rates == pytest.approx([config.peak_lr * part for part in (0.25, 0.5, 0.75, 1.0)])


def test_the_rate_falls_after_the_warm_up():
    config = Config()
    rates = [learning_rate(step, config) for step in range(config.warmup_steps, config.steps)]
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < config.peak_lr / 10


def test_every_step_uses_the_schedule():
    config = replace(Config(), steps=8)
    assert train(config).rates == [learning_rate(step, config) for step in range(8)]


def test_weights_stay_float32_and_the_scaler_is_on():
    run = train(replace(Config(), steps=2))
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.float32}
    assert all(scale > 1.0 for scale in run.scales)


def test_the_same_seed_gives_the_same_weights():
    first, second = (train(replace(Config(), steps=3)).model for _ in range(2))
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)

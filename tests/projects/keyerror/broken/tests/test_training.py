"""Tests of the parts; as in the report that this project is shaped after, none of them calls `fine_tune`."""

import math

import pytest
import torch

from training.environment import VOCAB_SIZE, NextToken, _setup_training_environment, counting_sequences
from training.fine_tuning import evaluate, train_epoch

torch.set_num_threads(1)  # threads only get in each other's way with a model this small


def prepare(use_amp):
    torch.manual_seed(0)
    model = NextToken(VOCAB_SIZE)
    return model, _setup_training_environment(model, epochs=2, batch_size=16, use_amp=use_amp)


@pytest.fixture(params=[True, False], ids=["amp", "fp32"])
def run(request):
    return prepare(use_amp=request.param)


def test_sequences_follow_the_rule():
    tokens = counting_sequences(8, seed=3)
    assert torch.equal(tokens[:, 1:], (tokens[:, :-1] * 5 + 1) % VOCAB_SIZE)


def test_untrained_model_guesses(run):
    model, env = run
    assert evaluate(model, env) == pytest.approx(math.log(VOCAB_SIZE), rel=0.2)


def test_training_learns_the_rule(run):
    model, env = run
    losses = [train_epoch(model, env) for _ in range(4)]
    assert losses[-1] < 0.5 * losses[0]
    assert evaluate(model, env) < losses[0]


def test_weights_stay_float32(run):
    model, env = run
    train_epoch(model, env)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_an_overflow_costs_a_step_and_halves_the_scale():
    model, env = prepare(use_amp=True)
    model.head.weight.register_hook(lambda grad: torch.full_like(grad, math.inf))
    env["train_loader"] = [next(iter(env["train_loader"]))]
    before = [parameter.detach().clone() for parameter in model.parameters()]
    scale = env["scaler"].get_scale()
    train_epoch(model, env)
    assert env["metrics_tracker"].overflows == 1
    assert env["scaler"].get_scale() == scale / 2
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))

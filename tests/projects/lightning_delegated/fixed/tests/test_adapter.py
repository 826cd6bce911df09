"""Tests of the model and its data."""

import torch

from training.adapter import ModelAdapter, make_batches

torch.set_num_threads(1)  # threads only get in each other's way with a model this small


def test_labels_say_which_half_sums_to_more():
    (x, y), *_ = make_batches(1, features=2)
    assert torch.equal(y, (x[:, 0] > x[:, 1]).long())


def test_the_optimizer_lowers_the_loss():
    torch.manual_seed(0)
    adapter = ModelAdapter()
    optimizer = adapter.configure_optimizers()
    losses = []
    for index, batch in enumerate(make_batches(40)):
        loss = adapter.training_step(batch, index)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2

"""Tests of the loss scale's way into the log, with stand-ins for W&B and for Lightning's trainer."""

from types import SimpleNamespace

import pytest
import torch

from training.amp_logging import AmpWandbCallback


class Recorded:
    """Keeps what it is given, as a W&B run does."""

    def __init__(self):
        self.entries = []

    def log(self, entry):
        self.entries.append(entry)


def trainer_with(scaler):
    return SimpleNamespace(strategy=SimpleNamespace(precision_plugin=SimpleNamespace(scaler=scaler)))


@pytest.mark.requirement("AMP-04")
def test_the_scale_of_the_trainers_scaler_is_logged():
    run = Recorded()
    AmpWandbCallback(run).on_train_epoch_end(trainer_with(torch.amp.GradScaler("cpu", init_scale=4.0)), None)
    assert run.entries == [{"amp/loss_scale": 4.0}]


@pytest.mark.parametrize("trainer", [SimpleNamespace(), SimpleNamespace(strategy=None), trainer_with(None)])
def test_nothing_is_logged_where_there_is_no_scaler(trainer):
    run = Recorded()
    AmpWandbCallback(run).on_train_epoch_end(trainer, None)
    assert run.entries == []

"""Tests of a training run, with a stand-in for W&B."""

import pytest
import torch

from training.adapter import ModelAdapter, make_batches
from training.coordinator import TrainingCoordinator

torch.set_num_threads(1)  # threads only get in each other's way with a model this small


class Recorded:
    """Keeps what it is given, as a W&B run does."""

    def __init__(self):
        self.entries = []

    def log(self, entry):
        self.entries.append(entry)


def trained(precision="16", use_amp=None, use_gpu=False, batches=40):
    torch.manual_seed(0)
    run, adapter = Recorded(), ModelAdapter()
    used = TrainingCoordinator(run, precision, use_gpu).train(adapter, make_batches(batches), use_amp)
    return used, run.entries, adapter


@pytest.mark.parametrize("precision", ["16", "32"])
def test_training_lowers_the_loss_and_keeps_weights_in_float32(precision):
    used, entries, adapter = trained(precision)
    assert used == precision
    assert entries[-1]["train/loss"] < entries[0]["train/loss"] / 2
    assert {parameter.dtype for parameter in adapter.parameters()} == {torch.float32}


@pytest.mark.requirement("AMP-04")
def test_the_scale_is_logged_at_every_step():
    _, entries, _ = trained(batches=3)
    assert len(entries) == 3
    assert all(entry["amp/loss_scale"] > 1.0 for entry in entries)


@pytest.mark.requirement("AMP-08")
def test_amp_asked_for_without_a_gpu_trains_in_float32():
    used, entries, _ = trained(use_amp=True, batches=2)
    assert used == "32"
    assert [entry["amp/loss_scale"] for entry in entries] == [1.0, 1.0]

"""What one test saves, by itself, in a function that it calls or in what its class sets up, it loads."""

import torch
from torch import nn
from writer import write


def test_round_trip(tmp_path):
    state = {"net": nn.Linear(2, 2).state_dict(), "scaler": torch.amp.GradScaler("cuda").state_dict()}
    torch.save(state, tmp_path / "weights.pt")
    assert torch.load(tmp_path / "weights.pt")["exported"]  # expect: KEY102


def test_of_the_writer(tmp_path):
    write(nn.Linear(2, 2), tmp_path)
    assert torch.load(tmp_path / "model.pt")["mask"]  # expect: KEY102


class TestPruned:
    def setup_method(self):
        torch.save({"net": 1, "scaler": 2}, "pruned.pt")

    def test_loaded(self):
        assert torch.load("pruned.pt")["mask"]  # expect: KEY102

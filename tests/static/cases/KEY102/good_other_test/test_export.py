"""Each test writes files of its own: what one saves is not what another loads."""

import subprocess

import torch
from torch import nn
from writer import write


def test_round_trip(tmp_path):
    state = {"net": nn.Linear(2, 2).state_dict(), "scaler": torch.amp.GradScaler("cuda").state_dict()}
    torch.save(state, tmp_path / "weights.pt")
    assert set(torch.load(tmp_path / "weights.pt")) == {"net", "scaler"}


def test_program_marks_its_output(tmp_path):
    subprocess.run(["export", str(tmp_path / "weights.pt")], check=True)
    loaded = torch.load(tmp_path / "weights.pt")
    assert loaded["exported"]


class TestPruned:
    def test_saved(self, tmp_path):
        torch.save({"net": 1, "scaler": 2}, tmp_path / "pruned.pt")

    def test_loaded(self, tmp_path):
        convert(tmp_path)
        assert torch.load(tmp_path / "pruned.pt")["mask"]


def convert(folder):
    subprocess.run(["prune", str(folder)], check=True)


def test_of_the_program_with_another_writer(tmp_path):
    convert(tmp_path)
    assert torch.load(tmp_path / "model.pt")["mask"]

import torch
from trainer import Trainer


def test_state_survives(tmp_path):
    trainer = Trainer(torch.nn.Linear(2, 2))
    trainer.step(torch.ones(2))
    state = {"model": trainer.model.state_dict(), "optimizer": trainer.optimizer.state_dict()}
    torch.save(state, tmp_path / "state.pt")
    other = Trainer(torch.nn.Linear(2, 2))
    loaded = torch.load(tmp_path / "state.pt")
    other.model.load_state_dict(loaded["model"])
    other.optimizer.load_state_dict(loaded["optimizer"])

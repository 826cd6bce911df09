"""What an object resumes from is what it has saved, wherever that lies."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.best = 0.0

    def save(self, path):
        state = dict(
            model=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            scaler=self.scaler.state_dict(),
            best=self.best,
        )
        torch.save(state, path)

    def resume(self, path):
        state = torch.load(path, map_location="cpu")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["grad_scaler"])  # expect: KEY102 likely
        self.best = state["best"]

"""States in a list under a key, beside a metric of the scale; and a table of what is to be saved."""

import torch
from torch.amp import GradScaler


class Step:
    def __init__(self, models):
        self.models = models
        self.optimizers = [torch.optim.Adam(model.parameters()) for model in models]
        self.scaler = GradScaler("cuda")

    def __call__(self, batch, metrics):
        with torch.autocast("cuda"):
            loss = sum(model(batch).mean() for model in self.models)
        self.scaler.scale(loss).backward()
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
            optimizer.zero_grad()
        self.scaler.update()
        metrics["grad_scaler_scale"] = self.scaler.get_scale()

    def save_training_state(self, path):
        state = {"optimizers": [], "models": [model.state_dict() for model in self.models]}
        for optimizer in self.optimizers:
            state["optimizers"].append(optimizer.state_dict())  # expect: AMP302
        torch.save(state, path)

    def resume_training(self, path):
        state = torch.load(path)
        for optimizer, kept in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)

"""The scaler's state on its way into the checkpoint: through a variable, a method, and an argument that is not in sight."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def save(self, path):
        of_scaling = self.scaler.state_dict() if self.scaler.is_enabled() else None
        state = {"optimizer": self.optimizer.state_dict(), "scaler": of_scaling}
        torch.save(state, path)

    def resume(self, path):
        state = torch.load(path)
        self.optimizer.load_state_dict(state["optimizer"])
        if state["scaler"] is not None:
            self.scaler.load_state_dict(state["scaler"])


def with_what_is_not_in_sight(model, batches, path):
    """Whether the scaler of another library is one of losses cannot be told; the place is said not to be followed."""
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    optimizer.load_state_dict(torch.load(path)["optimizer"])
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()

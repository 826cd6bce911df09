"""An optimizer around another that has a scaler of its own: the state of both belongs in what it gives."""

import torch


class ScaledOptimizer:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def state_dict(self):
        return {"optimizer": self.optimizer.state_dict()}  # expect: AMP302

    def load_state_dict(self, state):
        self.optimizer.load_state_dict(state["optimizer"])

    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def train(model, loader, path):
    optimizer = ScaledOptimizer(torch.optim.AdamW(model.parameters()))
    for inputs in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs).mean()
        optimizer.step(loss)
    torch.save(optimizer.state_dict(), path)

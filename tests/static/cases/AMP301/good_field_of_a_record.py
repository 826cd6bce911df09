from dataclasses import dataclass, field

import torch


@dataclass
class State:
    """Built once for each record, not where its methods run."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler = field(default_factory=lambda: torch.amp.GradScaler("cuda"))

    def step(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def main(model, loss_fn, batches):
    state = State(model, torch.optim.AdamW(model.parameters()))
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        state.step(loss)

from dataclasses import dataclass, field

import torch
from torch.amp import GradScaler


@dataclass
class State:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scaler: GradScaler = field(default_factory=lambda: GradScaler("cuda"))
    step: int = 0

    def state_dict(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),  # expect: AMP302
            "step": self.step,
        }

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]


@dataclass
class Short:
    optimizer: torch.optim.Optimizer
    scaler: GradScaler = field(default_factory=GradScaler)

    def state_dict(self):
        return {"optimizer": self.optimizer.state_dict()}  # expect: AMP302

    def load_state_dict(self, state):
        self.optimizer.load_state_dict(state["optimizer"])


def step(state, loss_fn, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(state.model(inputs), targets)
    state.scaler.scale(loss).backward()
    state.scaler.step(state.optimizer)
    state.scaler.update()
    state.optimizer.zero_grad()
    state.step += 1


def main(model, loss_fn, batches):
    state = State(model, torch.optim.AdamW(model.parameters()))
    for inputs, targets in batches:
        step(state, loss_fn, inputs, targets)
        torch.save(state.state_dict(), "last.pt")

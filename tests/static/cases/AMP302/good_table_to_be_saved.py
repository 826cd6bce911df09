"""A table of what is to be saved, the scaler among it."""

import torch
from torch.amp import GradScaler


class Agent:
    def __init__(self, policy):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters())
        self.scaler = GradScaler("cuda")
        self.checkpoint_modules = {}
        self.checkpoint_modules["policy"] = self.policy
        self.checkpoint_modules["optimizer"] = self.optimizer
        self.checkpoint_modules["scaler"] = self.scaler

    def update(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = self.policy(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def save(self, path):
        torch.save({name: module.state_dict() for name, module in self.checkpoint_modules.items()}, path)

    def load(self, path):
        for name, state in torch.load(path).items():
            self.checkpoint_modules[name].load_state_dict(state)

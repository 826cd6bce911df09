import torch
from torch.amp import GradScaler, autocast


class Critic:
    def __init__(self, critic):
        self.critic = critic
        self.optimizer = torch.optim.Adam(critic.parameters())
        self.scaler = GradScaler("cuda")

    def step(self, real, made, scaler):
        self.optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            loss = self.critic(made).mean() - self.critic(real).mean()
        scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)  # callers hand in this one
        self.scaler.update()

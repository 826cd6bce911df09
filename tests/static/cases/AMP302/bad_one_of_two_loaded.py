"""Two networks, each with a scaler of its own, of which one comes back."""

import torch
from torch.amp import GradScaler


class Adversarial:
    def __init__(self, generator, critic):
        self.generator, self.critic = generator, critic
        self.generator_optimizer = torch.optim.Adam(generator.parameters())
        self.critic_optimizer = torch.optim.Adam(critic.parameters())
        self.generator_scaler = GradScaler("cuda")
        self.critic_scaler = GradScaler("cuda")

    def train_step(self, noise, real):
        self.critic_optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = (self.critic(self.generator(noise).detach()) - self.critic(real)).mean()
        self.critic_scaler.scale(loss).backward()
        self.critic_scaler.step(self.critic_optimizer)
        self.critic_scaler.update()
        self.generator_optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = -self.critic(self.generator(noise)).mean()
        self.generator_scaler.scale(loss).backward()
        self.generator_scaler.step(self.generator_optimizer)
        self.generator_scaler.update()

    def save(self, path):
        state = {
            "generator": self.generator.state_dict(),
            "critic": self.critic.state_dict(),
            "generator_optimizer": self.generator_optimizer.state_dict(),
            "critic_optimizer": self.critic_optimizer.state_dict(),
            "generator_scaler": self.generator_scaler.state_dict(),
            "critic_scaler": self.critic_scaler.state_dict(),
        }
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path)
        self.generator.load_state_dict(state["generator"])
        self.critic.load_state_dict(state["critic"])
        self.generator_optimizer.load_state_dict(state["generator_optimizer"])
        self.critic_optimizer.load_state_dict(state["critic_optimizer"])
        self.generator_scaler.load_state_dict(state["generator_scaler"])  # expect: AMP302 likely

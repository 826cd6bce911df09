"""Two scalers, the states of which are kept and loaded: by their names, in a loop over names, and in different methods."""

import torch
from torch.amp import GradScaler


class Adversarial:
    KEPT = ("generator", "critic", "generator_optimizer", "critic_optimizer")

    def __init__(self, generator, critic):
        self.generator, self.critic = generator, critic
        self.generator_optimizer = torch.optim.Adam(generator.parameters())
        self.critic_optimizer = torch.optim.Adam(critic.parameters())
        self.generator_scaler = GradScaler("cuda")
        self.critic_scaler = GradScaler("cuda")
        self.probe_scaler = GradScaler("cuda")

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

    def probe(self, head, optimizer, batches):
        """A head that is trained to look at, and thrown away."""
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = head(self.critic(batch).detach()).mean()
            self.probe_scaler.scale(loss).backward()
            self.probe_scaler.step(optimizer)
            self.probe_scaler.update()

    def save(self, path):
        state = {name: getattr(self, name).state_dict() for name in self.KEPT}
        state["generator_scaler"] = self.generator_scaler.state_dict()
        self.keep_critic(state)
        torch.save(state, path)

    def keep_critic(self, state):
        state["critic_scaler"] = self.critic_scaler.state_dict()

    def load(self, path):
        state = torch.load(path)
        self.generator_scaler.load_state_dict(state["generator_scaler"])
        for name in (*self.KEPT, "critic_scaler"):
            getattr(self, name).load_state_dict(state[name])

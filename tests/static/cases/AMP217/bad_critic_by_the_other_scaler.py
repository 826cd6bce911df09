"""Two networks with a scaler each: the loss of the second is scaled by the scaler of the first, switched on or not."""

import torch


class Trainer:
    def __init__(self, generator, critic, adversarial):
        self.generator, self.critic, self.adversarial = generator, critic, adversarial
        self.of_generator = torch.optim.Adam(generator.parameters())
        self.of_critic = torch.optim.Adam(critic.parameters())
        self.scaler_of_generator = torch.amp.GradScaler("cuda")
        self.scaler_of_critic = torch.amp.GradScaler("cuda")

    def step(self, inputs, targets):
        with torch.autocast("cuda"):
            fake = self.generator(inputs)
            loss = (fake - targets).abs().mean()
        self.scaler_of_generator.scale(loss).backward()
        if self.adversarial:
            with torch.autocast("cuda"):
                loss_of_critic = self.critic(targets).mean() - self.critic(fake.detach()).mean()
            self.scaler_of_generator.scale(loss_of_critic).backward()
        self.scaler_of_critic.unscale_(self.of_critic)  # expect: AMP217
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.scaler_of_generator.step(self.of_generator)
        self.scaler_of_critic.step(self.of_critic)
        self.scaler_of_generator.update()
        self.scaler_of_critic.update()
        self.of_generator.zero_grad()
        self.of_critic.zero_grad()

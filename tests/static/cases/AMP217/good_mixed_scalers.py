import torch
from torch.amp import GradScaler, autocast


def each_its_own(loader, generator, critic, loss_fn):
    critic_optimizer = torch.optim.Adam(critic.parameters())
    generator_optimizer = torch.optim.Adam(generator.parameters())
    critic_scaler = GradScaler("cuda")
    generator_scaler = GradScaler("cuda")
    for real, noise in loader:
        critic_optimizer.zero_grad(set_to_none=True)
        generator_optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            made = generator(noise)
            critic_loss = loss_fn(critic(real), 1) + loss_fn(critic(made.detach()), 0)
        critic_scaler.scale(critic_loss).backward()
        critic_scaler.step(critic_optimizer)
        critic_scaler.update()
        with autocast("cuda"):
            generator_loss = loss_fn(critic(made), 1)
        generator_scaler.scale(generator_loss).backward()
        generator_scaler.unscale_(generator_optimizer)
        torch.nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        generator_scaler.step(generator_optimizer)
        generator_scaler.update()


class SharedScaler:
    def __init__(self, encoder, head):
        self.encoder_optimizer = torch.optim.Adam(encoder.parameters())
        self.head_optimizer = torch.optim.Adam(head.parameters())
        self.scaler = GradScaler("cuda")
        self.head_scaler = self.scaler  # one object by two names

    def step(self, loss):
        self.encoder_optimizer.zero_grad(set_to_none=True)
        self.head_optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.encoder_optimizer)
        self.head_scaler.step(self.head_optimizer)
        self.scaler.update()

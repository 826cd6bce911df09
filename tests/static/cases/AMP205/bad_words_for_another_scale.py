"""The word scale stands in the penalty: a weight, the size of an image, a docstring of what measures it."""

import torch
from torch.amp import GradScaler, autocast


class Rescaler:
    """Makes images larger."""

    def scale(self, images):
        return torch.nn.functional.interpolate(images, scale_factor=2)


def measured(slopes):
    """Does nothing with get_scale or inv_scale, nor does it unscale: the loss_scale stays."""
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


class Wasserstein:
    def __init__(self, critic):
        self.critic = critic
        self.penalty_scale = 10.0
        self.optimizer = torch.optim.Adam(critic.parameters())
        self.scaler = GradScaler("cuda")
        self.larger = Rescaler()

    def penalty(self, mixed):
        images = self.larger.scale(mixed)
        (slopes,) = torch.autograd.grad(
            outputs=self.critic(images).sum(), inputs=mixed, create_graph=True
        )
        weighted = slopes * self.penalty_scale
        return measured(weighted)

    def step(self, real, fake):
        self.optimizer.zero_grad()
        with autocast("cuda"):
            loss = self.critic(fake).mean() - self.critic(real).mean()
            loss = loss + self.penalty((real + fake) / 2)  # expect: AMP205
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

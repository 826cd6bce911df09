"""A penalty that a module adds to its loss, where a trainer runs whatever module it is given in a region."""

import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.autograd import grad as torch_grad


def gradient_penalty(images, output, weight=10):
    ones = torch.ones_like(output)
    (slope,) = torch_grad(output, images, grad_outputs=ones, create_graph=True)  # expect: AMP205 likely
    return weight * ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminator = nn.Linear(8, 1)

    def forward(self, images):
        images.requires_grad_()
        output = self.discriminator(images)
        return output.mean() + gradient_penalty(images, output)


class Delegated:
    """What this region casts to is not known: the trainer below counts."""

    def __init__(self, accelerator, model):
        self.accelerator = accelerator
        self.model = model

    def loss(self, images):
        with self.accelerator.autocast():
            return self.model(images)


class Trainer:
    def __init__(self, vae, optimizer):
        self.vae = vae
        self.optimizer = optimizer
        self.scaler = GradScaler("cuda")

    def step(self, images):
        self.optimizer.zero_grad()
        with autocast("cuda"):
            loss = self.vae(images)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

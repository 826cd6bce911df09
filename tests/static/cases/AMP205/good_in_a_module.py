"""A module that computes its penalty in float32, and one whose derivative is no penalty."""

import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.autograd import grad as torch_grad


def gradient_penalty(images, discriminator):
    with autocast("cuda", enabled=False):
        (slope,) = torch_grad(discriminator(images.float()).sum(), images, create_graph=True)
        return ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def layer_slope(loss, layer):
    return torch_grad(loss, layer, grad_outputs=torch.ones_like(loss), create_graph=True)[0]


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminator = nn.Linear(8, 1)

    def forward(self, images):
        output = self.discriminator(images)
        weight = layer_slope(output.mean(), self.discriminator.weight).norm()
        return weight * output.mean() + gradient_penalty(images, self.discriminator)


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

"""A penalty that a module adds to its loss: what runs the module in a region keeps no gradients."""

import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.autograd import grad as torch_grad


def gradient_penalty(images, output, weight=10):
    ones = torch.ones_like(output)
    (slope,) = torch_grad(output, images, grad_outputs=ones, create_graph=True)
    return weight * ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminator = nn.Linear(8, 1)

    def forward(self, images):
        images.requires_grad_()
        output = self.discriminator(images)
        return output.mean() + gradient_penalty(images, output)


class Trainer:
    def __init__(self, vae, optimizer):
        self.vae = vae
        self.optimizer = optimizer
        self.scaler = GradScaler("cuda")

    @torch.no_grad()
    def show(self, images):
        with autocast("cuda"):
            return self.vae(images)

    def step(self, images):
        self.optimizer.zero_grad()
        loss = self.vae(images)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

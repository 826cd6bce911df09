"""A penalty that a module adds to its loss in training, in float32: what runs in a region keeps no gradients."""

import torch
from torch import nn
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
        output = self.discriminator(images)
        return output.mean() + gradient_penalty(images, output) if self.training else output


def show(pipeline, images):
    with torch.no_grad(), torch.autocast("cuda"):
        return pipeline(images)

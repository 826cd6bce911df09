"""The scale is read once, when the file is loaded, and used in every step."""

import torch
from torch import autograd
from torch.cuda.amp import GradScaler

scaler = GradScaler()
inv_scale = 1.0 / scaler.get_scale()


def r1_penalty(scores, images):
    (slope,) = autograd.grad(outputs=scaler.scale(scores.sum()), inputs=images, create_graph=True)  # expect: AMP205
    slope = slope * inv_scale
    return slope.pow(2).sum()


def train(critic, optimizer, batches):
    for images in batches:
        images.requires_grad_(True)
        with torch.autocast("cuda"):
            scores = critic(images)
        optimizer.zero_grad()
        scaler.scale(r1_penalty(scores, images)).backward()
        scaler.step(optimizer)
        scaler.update()

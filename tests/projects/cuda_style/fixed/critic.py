"""Trains a critic whose gradient is held near length one, as for a Wasserstein distance."""

import torch
from torch.cuda.amp import GradScaler, autocast

from data import FEATURES


def train(batches, epochs=2, weight=10.0):
    """Returns the scaler and the critic."""
    critic = torch.nn.Sequential(torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).cuda()
    optimizer = torch.optim.SGD(critic.parameters(), lr=1e-3)
    scaler = GradScaler(init_scale=2.0**8)
    for _epoch in range(epochs):
        for features, _labels in batches:
            features = features.cuda(non_blocking=True).requires_grad_()
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                scores = critic(features)
            scaled = torch.autograd.grad(scaler.scale(scores.sum()), features, create_graph=True)[0]
            gradients = scaled / scaler.get_scale()
            with autocast():
                penalty = (gradients.norm(dim=1) - 1.0).square().mean()
                loss = scores.mean() + weight * penalty
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return scaler, critic

"""Autocast sums in float32: what is made of a sum is no half, and the epsilon stays."""

import torch


def ranking(user, item, other, bias):
    with torch.autocast("cuda", dtype=torch.float16):
        wanted = torch.sum(user * item, dim=-1) + bias
        unwanted = -(user * other).sum(-1)
        plain = torch.log(1e-10 + torch.sigmoid(wanted + unwanted)).mean()
        return plain + torch.log(torch.sigmoid((user - item).norm(dim=-1) / 2) + 1e-10).mean()


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        scaler.scale(-ranking(*model(batch))).backward()
        scaler.step(optimizer)
        scaler.update()

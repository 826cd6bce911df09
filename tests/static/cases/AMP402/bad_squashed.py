"""Sigmoids of what may be half are half, and so are their products."""

import torch


def pairwise(liked, disliked, active):
    first = torch.sigmoid(liked) * torch.sigmoid(active)
    second = disliked.sigmoid() * torch.sigmoid(active)
    return -torch.log(torch.sigmoid(first - second) + 1e-8).mean()  # expect: AMP402 likely


def train(model, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda"):
            loss = pairwise(*model(batch))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

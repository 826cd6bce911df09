"""Sigmoids of sums are float32, and so is what they are multiplied with."""

import torch


def pairwise(users, better, worse, liked, disliked):
    of_better = torch.sigmoid((users * better).sum(dim=-1))
    of_worse = (users * worse).sum(dim=-1).sigmoid()
    first = of_better * torch.sigmoid(liked)
    second = of_worse * torch.sigmoid(disliked)
    return -torch.log(torch.sigmoid(first - second) + 1e-8).mean()


def train(model, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda"):
            loss = pairwise(*model(batch))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

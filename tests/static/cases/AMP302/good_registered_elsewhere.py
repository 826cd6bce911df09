"""Not every registry saves: hooks and meters are told of the optimizer as well, and one asks a checkpoint for it."""

import torch
from meters import Checkpoints, Meters


def train(model, loss_fn, batches, folder):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    meters, checkpoints = Meters(), Checkpoints(folder)
    meters.register(optimizer)
    checkpoints.describe(optimizer)
    for images, labels in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

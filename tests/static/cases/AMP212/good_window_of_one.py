"""A window that is set to one micro-batch: each turn is its last, and nothing is left for the next one to zero."""

import torch

EVERY = 1


def in_the_function(model, criterion, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    window = 1
    for turn, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (turn + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()


def of_the_file(model, criterion, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for turn, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        if turn % EVERY:
            continue
        scaler.step(optimizer)
        scaler.update()

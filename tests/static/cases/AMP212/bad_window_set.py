"""Windows that are set to more than one micro-batch, in some runs at least."""

import torch


def of_four(model, criterion, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    window = 4
    for turn, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()  # expect: AMP212
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (turn + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()


def of_one_or_two(model, criterion, optimizer, loader, small):
    scaler = torch.amp.GradScaler("cuda")
    window = 1
    if small:
        window = 2
    for turn, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()  # expect: AMP212
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if (turn + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()

"""A step before there are gradients changes nothing: it only tells the scheduler that one came."""

import torch


def zeroed_first(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    optimizer.zero_grad()
    optimizer.step()
    for number, batch in enumerate(loader):
        scaler.scale(model(batch) / 4).backward()
        if (number + 1) % 4 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def new_optimizer(model, loader):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.step()
    for batch in loader:
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

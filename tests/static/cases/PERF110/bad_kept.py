"""Losses kept with their graphs: in evaluation, and after a backward."""

import torch


def evaluate(model, criterion, loader):
    model.eval()
    total = 0.0
    for images, labels in loader:
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        total += loss  # expect: PERF110 likely
    return total / len(loader)


def collect(net, loss_function, val_loader):
    losses = []
    for images, labels in val_loader:
        output = net(images)
        value = loss_function(output, labels)
        losses.append(value)  # expect: PERF110 likely
    return torch.stack(losses).mean().item()


def main(model, criterion, optimizer, scaler, loader):
    running, total, history = 0.0, 0.0, []
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        running += loss  # expect: PERF110
        total = total + loss  # expect: PERF110
        history.append(loss * 2)  # expect: PERF110
    print(evaluate(model, criterion, loader))
    return running, total, history

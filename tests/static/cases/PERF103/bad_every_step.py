"""The cache is emptied in every step."""

import torch


def plain(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        del loss
        torch.cuda.empty_cache()  # expect: PERF103


def accumulating(model, criterion, optimizer, scaler, loader, window):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels) / window
        scaler.scale(loss).backward()
        if (step + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            torch.cuda.empty_cache()  # expect: PERF103

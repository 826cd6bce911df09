"""What is summed is worked out from the loss after the backward: its graph goes with it."""

import torch


def main(model, criterion, optimizer, loader):
    total = 0.0
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss = loss / len(loader)
        total += loss  # expect: PERF110
    return total

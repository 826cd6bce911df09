"""A loss is one, whatever number stands beside it."""

import torch


def weighted(model, criterion, optimizer, scaler, loader, accumulate):
    total = 0.0
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss / accumulate).backward()
        total += loss / accumulate  # expect: PERF110
        scaler.step(optimizer)
        scaler.update()
    return total


def two(model, first, second, optimizer, scaler, loader, share):
    kept = []
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(inputs)
            a = first(outputs, targets)
            b = second(outputs)
        scaler.scale(a + share * b).backward()
        kept.append(a)  # expect: PERF110
        scaler.step(optimizer)
        scaler.update()
    return kept

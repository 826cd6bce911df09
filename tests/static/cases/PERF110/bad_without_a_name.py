"""The loss goes into the sum as it is worked out, without a name of its own."""

import torch


def evaluate(model, crit, loader):
    model.eval()
    total = 0.0
    for images, labels in loader:
        with torch.autocast("cuda"):
            total += crit(model(images), labels) * len(images)  # expect: PERF110 likely
    return total


def collect(model, criterion, loader):
    losses = []
    for images, labels in loader:
        with torch.autocast("cuda"):
            outputs = model(images)
            losses.append(criterion(outputs, labels))  # expect: PERF110 likely
    return losses


def main(model, criterion, loader):
    print(evaluate(model, criterion, loader), collect(model, criterion, loader))

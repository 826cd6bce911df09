"""An object of the project adds the loss to its sum, with the graph behind it."""

import torch


class Meter:
    def __init__(self):
        self.last, self.total, self.count = 0.0, 0.0, 0

    def update(self, value, count=1):
        self.last = value
        self.total += value * count
        self.count += count


def train(model, criterion, optimizer, scaler, loader):
    meter = Meter()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        meter.update(loss, len(images))  # expect: PERF110
    return meter


def evaluate(model, criterion, loader):
    meter = Meter()
    for images, labels in loader:
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        meter.update(loss, len(images))  # expect: PERF110 likely
    return meter.total / meter.count


def main(model, criterion, optimizer, scaler, loader):
    train(model, criterion, optimizer, scaler, loader)
    print(evaluate(model, criterion, loader))

"""Numbers beside the loss, and losses that were made with autograd off."""

import torch


class Average:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += value


def weighted(model, criterion, optimizer, scaler, loader, accumulate):
    total, weights = 0.0, 0.0
    for number, (inputs, targets) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets)
        weight = 0.5**number
        scaler.scale(weight * loss / accumulate).backward()
        total += loss.item() / accumulate
        weights += weight
        scaler.step(optimizer)
        scaler.update()
    return total / weights


class Trainer:
    def __init__(self, model, optimizer, scaler):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.every = 4

    def epoch(self, loader):
        seen = 0.0
        for inputs, targets in loader:
            batch = len(inputs)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(self.model(inputs), targets, reduction="sum")
            self.scaler.scale(loss / batch / self.every).backward()
            seen += batch
            seen += float(loss) / self.every
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return seen


def scheduled(model, criterion, optimizer, scaler, loader, ramp):
    ramps = []
    for step, (inputs, targets) in enumerate(loader):
        share = ramp(step)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss * share).backward()
        ramps.append(share)
        scaler.step(optimizer)
        scaler.update()
    return ramps


def evaluate(model, criterion, loader):
    average = Average()
    for inputs, targets in loader:
        with torch.inference_mode():
            with torch.autocast("cuda", dtype=torch.float16):
                outputs = model(inputs)
        loss = criterion(outputs, targets)
        average.update(loss)
    return average


def validate(model, criterion, loader):
    losses = []
    for inputs, targets in loader:
        with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        losses.append(loss)
    return losses

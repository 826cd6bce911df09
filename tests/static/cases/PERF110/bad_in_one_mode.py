"""Whether the loss is a number by the time it is kept depends on a branch."""

import torch


class Meter:
    def __init__(self):
        self.total = self.extra = 0.0

    def update(self, value, extra):
        self.total += value
        self.extra += extra


def train(model, criterion, optimizer, scaler, loader, quick):
    meter = Meter()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(images)
            loss_extra = 0.1 * outputs.square().mean()
            loss = criterion(outputs, labels) + loss_extra
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if quick:
            loss = loss.item()
        else:
            loss, loss_extra = (loss.item(), loss_extra.item())
        meter.update(loss, loss_extra)  # expect: PERF110 likely
    return meter


def a_list_of_numbers_in_one_mode(model, criterion, optimizer, scaler, loader, quick):
    meter = Meter()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(images)
            loss_extra = 0.1 * outputs.square().mean(0)
            loss = criterion(outputs, labels) + loss_extra
        scaler.scale(loss.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        if not quick:
            loss_extra = [part.item() for part in loss_extra]
        meter.update(loss.item(), loss_extra)  # expect: PERF110 likely
    return meter


def a_list_of_tensors(model, criterion, optimizer, scaler, loader, quick):
    meter = Meter()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(images)
            loss_extra = 0.1 * outputs.square().mean(0)
            loss = criterion(outputs, labels) + loss_extra
        scaler.scale(loss.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        if not quick:
            loss_extra = [part / 2 for part in loss_extra]
        meter.update(loss.item(), loss_extra)  # expect: PERF110
    return meter

"""The scale out of the scaler's state: the state asks the scaler for its scale."""

import torch


class LossScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()


def directly(model, criterion, optimizer, loader, writer):
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        writer.add_scalar("scale", scaler.state_dict()["scale"])  # expect: PERF111


def by_a_wrapper(model, criterion, optimizer, loader, writer):
    loss_scaler = LossScaler()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        loss_scaler(loss, optimizer)
        scale = loss_scaler.state_dict()["scale"]  # expect: PERF111
        writer.add_scalar("scale", scale)

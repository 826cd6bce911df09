"""A callable wrapper that is used only where the region is on."""

import torch


class LossScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


def main(config, model, optimizer, loader):
    loss_scaler = LossScaler()
    train_one_epoch(config, model, optimizer, loader, loss_scaler)


def train_one_epoch(config, model, optimizer, loader, loss_scaler):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=config.amp):
            loss = model(inputs, targets)
        if config.amp:
            loss_scaler(loss, optimizer)
        else:
            loss.backward()
            optimizer.step()

"""A callable wrapper that could be switched off, and is left on, for a region that an option turns off."""

import torch


class LossScaler:
    def __init__(self, enabled=True):
        self._scaler = torch.amp.GradScaler("cuda", enabled=enabled)

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


def main(config, model, optimizer, loader):
    loss_scaler = LossScaler()  # expect: AMP303 likely
    train_one_epoch(config, model, optimizer, loader, loss_scaler)


def main_with_the_option(config, model, optimizer, loader):
    loss_scaler = LossScaler(enabled=config.amp)
    train_one_epoch(config, model, optimizer, loader, loss_scaler)


def train_one_epoch(config, model, optimizer, loader, loss_scaler):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=config.amp):
            loss = model(inputs, targets)
        loss_scaler(loss, optimizer)

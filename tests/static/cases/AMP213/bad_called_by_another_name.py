"""The loop that steps the schedule is called by a variable that stands for one of two functions."""

import torch
from torch.cuda.amp import GradScaler


class LossScaler:
    def __init__(self):
        self._scaler = GradScaler()

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


def pretrain(model, loader, optimizer, lr_scheduler=None, loss_scaler=None):
    for images in loader:
        with torch.autocast("cuda"):
            loss = model(images)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer)
        lr_scheduler.step()  # expect: AMP213 likely


def finetune(model, loader, optimizer, lr_scheduler=None, loss_scaler=None):
    for images, labels in loader:
        with torch.autocast("cuda"):
            loss = model(images, labels)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer)
    lr_scheduler.step()


def evaluate(model, loader, optimizer, lr_scheduler=None, loss_scaler=None):
    return [model(images) for images in loader]


def main(model, loader, optimizer, task, epochs):
    loss_scaler = LossScaler()
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    train = pretrain if task == "pretrain" else finetune
    for _ in range(epochs):
        train(model, loader, optimizer, lr_scheduler=schedule, loss_scaler=loss_scaler)
    evaluate(model, loader, optimizer)

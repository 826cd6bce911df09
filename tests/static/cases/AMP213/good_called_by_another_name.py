"""A variable stands for one of two functions, and what it hands them is no scaler."""

import torch
from torch.cuda.amp import GradScaler


class Plain:
    def __call__(self, loss, optimizer):
        loss.backward()
        optimizer.step()


class LossScaler:
    def __init__(self):
        self._scaler = GradScaler()

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


def pretrain(model, loader, optimizer, lr_scheduler=None, step=None):
    for images in loader:
        loss = model(images)
        optimizer.zero_grad()
        step(loss, optimizer)
        lr_scheduler.step()


def finetune(model, loader, optimizer, lr_scheduler=None, step=None):
    for images, labels in loader:
        loss = model(images, labels)
        optimizer.zero_grad()
        step(loss, optimizer)
        lr_scheduler.step()


def in_half(model, loader, optimizer, step=None):
    for images in loader:
        with torch.autocast("cuda"):
            loss = model(images)
        optimizer.zero_grad()
        step(loss, optimizer)


def main(model, loader, optimizer, task, epochs):
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    train = pretrain if task == "pretrain" else finetune
    for _ in range(epochs):
        train(model, loader, optimizer, lr_scheduler=schedule, step=Plain())
    train = in_half
    train(model, loader, optimizer, step=LossScaler())

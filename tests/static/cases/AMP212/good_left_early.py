"""Training ends between a step and the zero_grad of that turn: no turn goes without."""

import torch
from torch.amp import GradScaler


def train(model, loader, optimizer, schedule, config):
    scaler = GradScaler("cuda")
    for _ in range(config.epochs):
        for x, y in loader:
            with torch.autocast("cuda"):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            if config.amp:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                schedule.step()
                if schedule.get_last_lr()[0] == 0:
                    break
                optimizer.zero_grad()
            else:
                loss.backward()
                optimizer.step()
                schedule.step()
                if schedule.get_last_lr()[0] == 0:
                    break
                optimizer.zero_grad()


def train_by_two(model, head, loader, optimizers, use_amp):
    """What is not zeroed in a branch is, at the top of every turn."""
    scaler = GradScaler("cuda")
    for x, y in loader:
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.autocast("cuda", enabled=use_amp):
            loss = torch.nn.functional.cross_entropy(head(model(x)), y)
        if use_amp:
            scaler.scale(loss).backward()
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()

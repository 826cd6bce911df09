"""A record that is called a checkpoint only holds what was loaded: it is told of once, where the states are kept."""

from dataclasses import dataclass

import torch


@dataclass
class Checkpoint:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    epoch: int = 0


def save(checkpoint, path):
    states = {
        "model": checkpoint.model.state_dict(),
        "optimizer": checkpoint.optimizer.state_dict(),  # expect: AMP302
        "epoch": checkpoint.epoch,
    }
    torch.save(states, path)


def load(model, optimizer, path):
    states = torch.load(path)
    model.load_state_dict(states["model"])
    optimizer.load_state_dict(states["optimizer"])
    return Checkpoint(model=model, optimizer=optimizer, epoch=states["epoch"])


def train(model, loader, loss_fn, path):
    scaler = torch.amp.GradScaler("cuda")
    checkpoint = load(model, torch.optim.AdamW(model.parameters()), path)
    for inputs, targets in loader:
        checkpoint.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(checkpoint.model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(checkpoint.optimizer)
        scaler.update()
    save(checkpoint, path)

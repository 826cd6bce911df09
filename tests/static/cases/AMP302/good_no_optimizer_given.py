"""The helper would keep the optimizer's state, and every call of it gives None for the optimizer."""

import torch
from torch.cuda.amp import GradScaler


def keep(model, optimizer, path):
    state = optimizer.state_dict() if optimizer is not None else None
    torch.save({"model": model.state_dict(), "optimizer": state}, path)


def keep_best(model, path, optimizer=None):
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict() if optimizer is not None else None}
    torch.save(states, path)


def restore(path, model, optimizer):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    if optimizer is not None and state["optimizer"] is not None:
        optimizer.load_state_dict(state["optimizer"])


def train(model, optimizer, batches, path):
    scaler = GradScaler()
    restore(path, model, None)
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model(batch)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        keep(model, None, path)
        keep_best(model, path)

"""Checkpoints that are whole, hold weights only, or have no scaler to keep."""

import copy

import torch


def whole(model, batches, path):
    optimizer = torch.optim.AdamW(model.parameters())
    grad_scaler = torch.amp.GradScaler("cuda")
    checkpoint = torch.load(path)
    optimizer.load_state_dict(checkpoint["optimizer"])
    grad_scaler.load_state_dict(checkpoint["amp"])
    for batch in batches:
        optimizer.zero_grad()
        grad_scaler.scale(model(batch)).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()
    torch.save({"optimizer": optimizer.state_dict(), "amp": grad_scaler.state_dict()}, path)


def weights_only(model, path):
    torch.save({"model": model.state_dict(), "epoch": 3}, path)


def looked_at(optimizer):
    """Not saved at all."""
    before = copy.deepcopy(optimizer.state_dict())
    return before == optimizer.state_dict()

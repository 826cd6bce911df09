"""Optimizers whose states are kept each under a number of its own, and the scaler's beside them."""

import torch


def save(model, optimizers, scaler, path):
    states = {"model": model.state_dict()}
    for number, optimizer in enumerate(optimizers):
        states[f"optimizer_{number}"] = optimizer.state_dict()
    states["scaler"] = scaler.state_dict()
    torch.save(states, path)


def load(model, optimizers, scaler, path):
    states = torch.load(path)
    model.load_state_dict(states["model"])
    scaler.load_state_dict(states["scaler"])
    for number, optimizer in enumerate(optimizers):
        optimizer.load_state_dict(states[f"optimizer_{number}"])


def train(model, optimizers, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    load(model, optimizers, scaler, path)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        save(model, optimizers, scaler, path)

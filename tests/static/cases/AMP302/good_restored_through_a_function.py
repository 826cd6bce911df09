"""The scaler's state is loaded by a function that loads any state."""

import torch


def give_back(state, owner):
    if state:
        owner.load_state_dict(state)
    return owner


def train(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    kept = torch.load(path)
    model.load_state_dict(kept["model"])
    optimizer = give_back(kept["optimizer"], optimizer)
    if "scaler" in kept:
        scaler = give_back(kept["scaler"], scaler)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    torch.save(kept, path)

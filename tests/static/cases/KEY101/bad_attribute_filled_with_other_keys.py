"""Others put constant keys into the attribute, and not the one that is read."""

import torch


class State:
    def __init__(self):
        self.metrics = {}


def note(trainer, loss):
    trainer.state.metrics["loss"] = loss


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    state = State()
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return state.metrics["los"]  # expect: KEY101

"""One helper keeps the state of whatever it is given by keyword, and is not given the scaler."""

import torch
from torch.cuda.amp import GradScaler


def keep(path, model, optimizer, **others):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}  # expect: AMP302
    for name, other in others.items():
        state[name] = other.state_dict() if hasattr(other, "state_dict") else other
    torch.save(state, path)


def train(model, optimizer, scheduler, batches, path):
    scaler = GradScaler()
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    for number, batch in enumerate(batches):
        with torch.autocast("cuda"):
            loss = model(batch)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        keep(path, model, optimizer, scheduler=scheduler, number=number)

"""The model is cast where one of the optimizers is built for it; of another one nothing is known."""

import torch
from torch import nn


def optimizer_for(model, kind, plugin):
    if kind == "adam":
        model.half()  # expect: AMP401 likely
        optimizer = torch.optim.Adam(model.parameters())
    else:
        optimizer = plugin(model)
    return optimizer


def any_optimizer_for(model, kind, plugin):
    model.half()  # expect: AMP401 likely
    return torch.optim.Adam(model.parameters()) if kind == "adam" else plugin(model)


def main(batches, kind, plugin):
    model = nn.Linear(8, 8)
    optimizer = any_optimizer_for(model, kind, plugin)
    epoch(model, optimizer, torch.amp.GradScaler("cuda"), batches)


def other(batches, kind, plugin):
    model = nn.Linear(8, 8)
    optimizer = optimizer_for(model, kind, plugin)
    scaler = torch.amp.GradScaler("cuda")
    epoch(model, optimizer, scaler, batches)


def epoch(model, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

"""A clip whose limit nothing reaches changes no gradient."""

import torch


def train(model, optimizer, scaler, batches):
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(inputs)
        scaler.scale(loss).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e9)
        other = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        print(norm, other)
        scaler.step(optimizer)
        scaler.update()

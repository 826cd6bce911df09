"""Clips whose limit grows with the gradients, told of the scale by whoever calls."""

import torch


def clip_gradients(model, optimizer, limit, scale=1.0):
    if hasattr(optimizer, "clip_grad_norm"):
        return optimizer.clip_grad_norm(limit * scale)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), limit * scale)


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        clip_gradients(model, optimizer, 1.0, scale=scaler.get_scale())
        scale = scaler.get_scale()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5 * scale)
        scaler.step(optimizer)
        scaler.update()

"""The gradients of a window are measured behind the loop over its parts, and the scaler has not unscaled them."""

import torch


def train(model, optimizer, windows, log, own_backward=None):
    scaler = torch.amp.GradScaler("cuda")
    for window in windows:
        optimizer.zero_grad()
        for part in window:
            if own_backward is None:
                scaler.scale(model(part)).backward()
            else:
                own_backward(model(part))
        log(torch.norm(torch.cat([p.grad.flatten() for p in model.parameters()])))  # expect: AMP204
        scaler.step(optimizer)
        scaler.update()

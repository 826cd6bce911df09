"""A region covers a step, and then the backward that mixes the gradients."""

from torch.amp import GradScaler, autocast


def train(model, optimizer, loader, scaler: GradScaler):
    for x, y in loader:
        with autocast("cuda"):
            scaler.scale(model(x, y)).backward()
            scaler.step(optimizer)
            scaler.unscale_(optimizer)  # expect: AMP203
            scaler.scale(model(x, y)).backward()
        scaler.update()
        optimizer.zero_grad()

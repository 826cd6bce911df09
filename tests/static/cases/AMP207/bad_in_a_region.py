"""The step that the region covers is the one at fault."""

from torch.amp import GradScaler, autocast


def train(model, optimizer, loader, scaler: GradScaler):
    for x, y in loader:
        with autocast("cuda"):
            loss = model(x, y)
            scaler.scale(loss).backward()
            optimizer.step()  # expect: AMP207
        scaler.update()
        optimizer.zero_grad()

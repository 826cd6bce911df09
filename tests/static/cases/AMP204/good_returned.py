import torch


def scaled(loss, scaler: torch.amp.GradScaler):
    """The caller derives it."""
    loss = scaler.scale(loss)
    return loss


def step(model, loss_fn, batch, scaler: torch.amp.GradScaler):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(batch))
    large = scaler.scale(loss)
    large.backward()
    return loss


def step_and_divide(model, loss_fn, batch, scaler: torch.amp.GradScaler):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(batch))
    loss = scaler.scale(loss)
    loss.backward()
    loss = loss / 8
    return loss

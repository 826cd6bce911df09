import torch


def backward(model, scaler, batch):
    with torch.autocast("cuda"):
        losses = model(batch)
    scaler.scale(losses["all"]).backward()
    for name, value in losses.items():
        if value is not None:
            losses[name] = value.item()  # expect: PERF101 likely
    return losses


def update(optimizer, scaler, losses):
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return losses

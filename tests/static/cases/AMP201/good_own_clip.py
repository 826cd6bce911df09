"""A clip of the project's own, over the parameters that have gradients, behind `unscale_`."""

import torch


def limit_gradients(parameters, limit):
    parameters = [each for each in parameters if each.grad is not None]
    norm = torch.norm(torch.stack([each.grad.norm() for each in parameters]))
    factor = limit / (norm + 1e-6)
    if factor < 1:
        for each in parameters:
            each.grad.mul_(factor)


def limit_by_squares(parameters, limit):
    norm = torch.sqrt(sum((each.grad**2).sum() for each in parameters))
    if norm > limit:
        for each in parameters:
            each.grad.mul_(limit / norm)


def train(model, batches, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        limit_gradients(model.parameters(), 1.0)
        limit_by_squares(list(model.parameters()), 1.0)
        scaler.step(optimizer)
        scaler.update()

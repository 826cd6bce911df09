"""A region without a dtype computes in float16 where the setting says CUDA; a sum of one way makes no score float32."""

import torch


def ranking(user, item, other, summed):
    if summed:
        score = (user * item).sum(-1)
    else:
        score = (user - other) @ item
    return torch.log(torch.sigmoid(score) + 1e-10).mean()  # expect: AMP402 likely


def train(model, loader, optimizer, options):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast(options.device.type):
            loss = -ranking(*model(batch), options.summed)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

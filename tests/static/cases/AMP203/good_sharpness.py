"""Both steps of a sharpness-aware optimizer zero the gradients where they are told to."""

import torch
from sharpness import SAM


def train(model, loss_fn, batches):
    sam = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(sam)
        sam.first_step(zero_grad=True)
        scaler.update()
        with torch.autocast("cuda", dtype=torch.float16):
            second = loss_fn(model(inputs), targets)
        scaler.scale(second).backward()
        scaler.unscale_(sam)
        sam.second_step(zero_grad=True)
        scaler.update()

"""What reads the key trains under autocast."""

import torch
from images import Images


def train(model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    images = Images()
    print(images.shared()["classes"])
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

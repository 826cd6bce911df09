"""Islands of float32: what they read comes out of a region that is on."""

import torch


def train(model, decoder, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            features = model(inputs)
        with torch.autocast("cuda", enabled=False):
            loss = loss_fn(decoder(features.float()), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

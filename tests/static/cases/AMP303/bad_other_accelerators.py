"""The region goes where the model is, the scaler is for CUDA; and this program knows of other accelerators."""

import torch


def pick():
    return "mps" if torch.backends.mps.is_available() else "cuda"


def train(model, optimizer, batches):
    scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        with torch.autocast(device_type=model.device.type):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def told(model, optimizer, batches, device):
    scaler = torch.amp.GradScaler("cuda")
    kind = torch.device(device).type
    for batch in batches:
        with torch.autocast(kind, dtype=torch.float16):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

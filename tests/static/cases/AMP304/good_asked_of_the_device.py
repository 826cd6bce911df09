"""The device decides on the dtype and on the scaler alike, under one name or two."""

import torch

OPTIONS = {"device": torch.device("cuda" if torch.cuda.is_available() else "cpu")}


def step(model, inputs, targets, optimizer, scaler, device):
    with torch.autocast(
        device_type=device.type,
        dtype=torch.float16 if device.type == "cuda" else torch.bfloat16,
    ):
        loss = torch.nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def train(model, batches, optimizer):
    device = OPTIONS["device"]
    scaler = torch.amp.GradScaler(enabled=True if OPTIONS["device"].type == "cuda" else False)
    for inputs, targets in batches:
        step(model, inputs, targets, optimizer, scaler, device)

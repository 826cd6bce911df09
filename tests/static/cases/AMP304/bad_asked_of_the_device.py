"""The device decides on the scaler, something else on the dtype."""

import torch

OPTIONS = {"device": torch.device("cuda" if torch.cuda.is_available() else "cpu"), "new": True}


def step(model, inputs, targets, optimizer, scaler, device, new):
    with torch.autocast(device_type=device.type, dtype=torch.bfloat16 if new else torch.float16):
        loss = torch.nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def train(model, batches, optimizer, new):
    device = OPTIONS["device"]
    scaler = torch.amp.GradScaler(enabled=True if device.type == "cuda" else False)  # expect: AMP304 likely
    for inputs, targets in batches:
        step(model, inputs, targets, optimizer, scaler, device, new)

"""Where the device is not CUDA there is neither a scaler nor a region; or nobody foresees another accelerator."""

from contextlib import nullcontext

import torch


def step(model, loss_fn, optimizer, scaler, region, inputs, targets):
    optimizer.zero_grad()
    with region:
        loss = loss_fn(model(inputs), targets)
    if scaler is None:
        loss.backward()
        optimizer.step()
    else:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(args, model, loss_fn, optimizer, batches):
    device = torch.device(args.device)
    scaler, region = None, nullcontext()
    if device.type == "cuda":
        scaler = torch.amp.GradScaler()
        region = torch.autocast(device.type, dtype=torch.float16)
    print(torch.backends.mps.is_available())
    for inputs, targets in batches:
        step(model, loss_fn, optimizer, scaler, region, inputs, targets)

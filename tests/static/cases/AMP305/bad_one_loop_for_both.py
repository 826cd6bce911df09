"""One function trains and evaluates: whether gradients are kept depends, and the region's loss is back-propagated."""

import torch


def run(model, batches, optimizer, device):
    trains = optimizer is not None
    for inputs in batches:
        with torch.set_grad_enabled(trains), torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305
            loss = model(inputs.to(device)).mean()
        if trains:
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

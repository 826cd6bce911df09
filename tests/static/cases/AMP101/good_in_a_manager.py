from contextlib import contextmanager

import torch


@contextmanager
def watched(name):
    """A manager that enters no region around its `yield`."""
    with torch.autocast("cuda", dtype=torch.float16):
        print(name)
    with torch.autograd.set_detect_anomaly(True):
        yield


def step(model, optimizer, loss_fn, inputs, targets, scaler: torch.amp.GradScaler):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    with watched("backward"):
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

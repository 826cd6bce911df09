"""What the thread runs enters a region of its own, or nothing that starts it is called in a region."""

from concurrent.futures import ThreadPoolExecutor

import torch


def forward(model, inputs):
    with torch.autocast("cuda", dtype=torch.float16):
        return model(inputs)


def run(model, inputs):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(forward, model, inputs).result()


def plain(model, inputs):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(model, inputs).result()


def step(model, loss_fn, inputs, targets, optimizer, scaler):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(run(model, inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return plain(model, inputs)

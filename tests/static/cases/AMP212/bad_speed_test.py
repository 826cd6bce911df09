"""Steps that are only timed: gradients pile up all the same, and nobody keeps the weights."""

import time

import torch


def speed_test(model, inputs, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    scaler = torch.amp.GradScaler("cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        with torch.autocast("cuda"):
            loss = model(inputs).mean()
        scaler.scale(loss).backward()  # expect: AMP212 likely
        scaler.step(optimizer)
        scaler.update()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps

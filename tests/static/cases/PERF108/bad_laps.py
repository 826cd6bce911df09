"""Each span begins where the last one ended."""

import time

import torch


def train(model, loader, optimizer, scaler, prepare):
    loading = working = 0.0
    then = time.perf_counter()
    for batch in loader:
        now = time.perf_counter()
        loading += now - then
        then = now
        batch = prepare(batch.cuda())
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        now = time.perf_counter()  # expect: PERF108
        working += now - then
        then = now
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        now = time.perf_counter()
        working += now - then
        then = now
    print(loading, working)

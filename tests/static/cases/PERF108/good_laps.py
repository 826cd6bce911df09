"""Spans that begin where the last one ended, with a wait before each end; and a name that is no read of a clock."""

import time

import torch


def train(model, loader, optimizer, scaler):
    loading = working = 0.0
    then = time.perf_counter()
    for batch in loader:
        now = time.perf_counter()
        loading += now - then
        then = now
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch.cuda()).mean()
        torch.cuda.synchronize()
        now = time.perf_counter()
        working += now - then
        then = now
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(loading, working)


def since(model, loader, began):
    spent = 0.0
    for batch in loader:
        then = began
        with torch.autocast("cuda"):
            model(batch.cuda())
        now = time.perf_counter()
        spent = now - then
    return spent


def of_the_turn_before(model, loader):
    now = time.perf_counter()
    for batch in loader:
        then = now
        with torch.autocast("cuda"):
            model(batch.cuda())
        now = time.perf_counter()
        print(now - then)


def as_told(model, loader, watch):
    for batch in loader:
        began = watch.started()
        then = began
        with torch.autocast("cuda"):
            model(batch.cuda())
        now = time.perf_counter()
        watch.add(now - then)

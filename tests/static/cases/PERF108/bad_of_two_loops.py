"""A warm-up reads the clock as the loop behind it does, and nobody subtracts what it read."""

import time

import torch


def measure(model, optimizer, scaler, loader):
    times = []
    for images, labels in loader:
        t0 = time.time()
        with torch.autocast("cuda"):
            loss = model(images.cuda(), labels.cuda())
        t1 = time.time()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for images, labels in loader:
        t0 = time.time()
        with torch.autocast("cuda"):
            loss = model(images.cuda(), labels.cuda())
        t1 = time.time()  # expect: PERF108
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        times.append(t1 - t0)
    return times


def told_at_the_end(model, images):
    for _ in range(3):
        t0 = time.time()
        with torch.autocast("cuda"):
            model(images.cuda())
        t1 = time.time()  # expect: PERF108
    return t1 - t0

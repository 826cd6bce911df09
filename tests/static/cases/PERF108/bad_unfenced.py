"""Spans around CUDA work with no wait in them."""

import time
from time import perf_counter

import torch


def forward_only(model, criterion, optimizer, scaler, loader):
    spent = 0.0
    for images, labels in loader:
        begin = perf_counter()
        with torch.autocast("cuda"):
            loss = criterion(model(images.cuda()), labels.cuda())
        spent += perf_counter() - begin  # expect: PERF108
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return spent


def benchmark(model, device):
    batch = torch.randn(8, 3, 64, 64, device=device)
    with torch.no_grad(), torch.autocast("cuda"):
        start = time.time()
        for _ in range(100):
            model(batch)
        end = time.time()  # expect: PERF108 likely
    return (end - start) / 100


def waits_too_early(model, device, batches):
    spent = []
    for batch in batches:
        start = time.time()
        longest = batch["length"].max().item()
        with torch.autocast("cuda"):
            model(batch["images"].to(device)[:longest])
        spent.append(time.time() - start)  # expect: PERF108 likely
    return spent


def ends_in_the_region(model, criterion, optimizer, scaler, loader):
    spent = 0.0
    for images, labels in loader:
        begin = time.time()
        with torch.autocast("cuda"):
            outputs = model(images.cuda())
            spent += time.time() - begin  # expect: PERF108
            loss = criterion(outputs, labels.cuda())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(time.time() - begin)
    return spent

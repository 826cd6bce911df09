"""Waits for a clock, once an epoch, in some steps only."""

import time

import torch


def timed(model, criterion, optimizer, scaler, loader):
    seconds = 0.0
    for images, labels in loader:
        torch.cuda.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
        seconds += time.perf_counter() - start
    return seconds


def once_an_epoch(model, criterion, optimizer, scaler, loader, epochs):
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        torch.cuda.synchronize()


def every_hundredth(model, criterion, optimizer, scaler, loader):
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % 100 == 0:
            torch.cuda.synchronize()

"""Half of an asynchronous copy."""

import torch
from torch.utils.data import DataLoader


def waits(model, criterion, optimizer, scaler, dataset, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device)  # expect: PERF106
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def without_effect(model, criterion, optimizer, scaler, dataset):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2):
        images = images.cuda(non_blocking=True)  # expect: PERF106
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def not_on_the_cpu(model, criterion, optimizer, scaler, dataset, device):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True):
        if device.type != "cpu":
            images = images.to(device)  # expect: PERF106
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

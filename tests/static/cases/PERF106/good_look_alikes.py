"""Both halves, or neither, or not to be told."""

import torch
from torch.utils.data import DataLoader


def both(model, criterion, optimizer, scaler, dataset, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)
    for images, labels in loader:
        images, labels = (each.to(device, non_blocking=True) for each in (images, labels))
        images = images.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def neither(model, criterion, optimizer, scaler, dataset, device):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2):
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def told_by_the_caller(model, criterion, optimizer, scaler, dataset, device, pin):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=pin):
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def where_there_is_no_gpu(model, criterion, optimizer, scaler, dataset, device, on_device):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True):
        if device.type == "cuda" and not on_device:
            images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        elif device.type != "cuda":
            images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

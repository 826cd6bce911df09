"""Pinned, perhaps pinned, never moved, moved without waiting (PERF106 has that)."""

import torch
from torch.utils.data import DataLoader


def pinned(model, criterion, optimizer, scaler, dataset, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)
    for images, labels in loader:
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def perhaps(model, criterion, optimizer, scaler, dataset, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=torch.cuda.is_available())
    for images, labels in loader:
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def never_moved(model, criterion, optimizer, scaler, dataset):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2):
        images = images.to(torch.float32)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def moved_without_waiting(model, criterion, optimizer, scaler, dataset, device):
    for images, labels in DataLoader(dataset, batch_size=8, num_workers=2):
        images = images.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

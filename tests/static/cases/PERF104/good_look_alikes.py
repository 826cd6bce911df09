"""Workers, unknown workers, tensors in memory, a loop on the CPU, evaluation."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def has_workers(model, criterion, optimizer, scaler, dataset, device):
    for images, labels in DataLoader(dataset, 8, True, None, None, 4):
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def told_by_the_caller(model, criterion, optimizer, scaler, dataset, device, workers, more):
    loader = DataLoader(dataset, batch_size=8, num_workers=workers)
    for images, labels in loader:
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    for images, labels in DataLoader(dataset, **more):
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_memory(model, criterion, optimizer, scaler, inputs, targets, device):
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=8)
    for images, labels in loader:
        images = images.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def on_the_cpu(model, criterion, optimizer, scaler, dataset):
    for images, labels in DataLoader(dataset, batch_size=8):
        images = images.to("cpu")
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def evaluation(model, dataset, device):
    for images, _ in DataLoader(dataset, batch_size=8):
        with torch.no_grad():
            model(images.to(device))

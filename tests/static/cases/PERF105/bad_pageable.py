"""Batches that are not pinned and are moved to the GPU."""

import torch
from torch.utils.data import DataLoader


def not_given(model, criterion, optimizer, scaler, dataset, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=2)  # expect: PERF105
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, dataset):
        self.feed = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=False)  # expect: PERF105

    def fit(self, model, criterion, optimizer, scaler):
        for batch in self.feed:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(batch["image"].cuda()), batch["label"].cuda())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

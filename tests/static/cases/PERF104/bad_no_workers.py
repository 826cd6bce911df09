"""No workers: not given, 0, in a dict of options, behind a progress bar."""

import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

OPTIONS = {"batch_size": 8, "num_workers": 0, "pin_memory": True}


def not_given(model, criterion, optimizer, scaler, dataset, device):
    loader = DataLoader(dataset, batch_size=8, pin_memory=True)  # expect: PERF104
    for images, labels in loader:
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def options_in_a_dict(model, criterion, optimizer, scaler, dataset):
    loader = DataLoader(dataset, **OPTIONS)  # expect: PERF104
    bar = tqdm(enumerate(loader), total=len(loader))
    for _, (images, labels) in bar:
        images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

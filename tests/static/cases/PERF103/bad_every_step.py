"""The cache is emptied in every step."""

import torch
from monai.networks.nets import UNet


def plain(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        del loss
        torch.cuda.empty_cache()  # expect: PERF103


def accumulating(model, criterion, optimizer, scaler, loader, window):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels) / window
        scaler.scale(loss).backward()
        if (step + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            torch.cuda.empty_cache()  # expect: PERF103


def told_by_a_name(model, criterion, optimizer, scaler, loader, window):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels) / window
        scaler.scale(loss).backward()
        full = (step + 1) % window == 0
        last = step + 1 == len(loader)
        if full or last:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        if full:
            torch.cuda.empty_cache()  # expect: PERF103


def stepped_by_the_scaler(model, criterion, optimizer, loss_scaler, loader, window):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels) / window
        loss_scaler(loss, optimizer, update_grad=(step + 1) % window == 0)
        if (step + 1) % window == 0:
            optimizer.zero_grad()
            torch.cuda.empty_cache()  # expect: PERF103


@torch.no_grad()
def evaluate(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        torch.cuda.empty_cache()  # expect: PERF103 likely
        with torch.autocast("cuda"):
            total += criterion(model(images), labels)
    return total / len(loader)


class CrossViewNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)


def check(loader):
    seen = CrossViewNet()
    for images in loader:
        torch.cuda.empty_cache()  # expect: PERF103 likely
        print(seen(images))


class Segmenter(UNet):
    """What a library's class derives from is not known here; its name tells."""


def look(loader):
    model = Segmenter(3)
    for images in loader:
        torch.cuda.empty_cache()  # expect: PERF103 likely
        print(model(images))

"""A loss module that reads each of its parts on the host, in every step; what the model's forward reads is its own."""

import torch
from torch import nn
from torch.utils.data import DataLoader


class DetectionLoss(nn.Module):
    def forward(self, boxes, targets):
        box = (boxes - targets).abs().mean()
        size = boxes.square().mean()
        return box + size, (box.item(), size.item())  # expect: PERF101 likely


class Detector(nn.Module):
    def forward(self, images):
        if images.isnan().any().item():
            return images.nan_to_num()
        return images


def train(data, optimizer):
    model, criterion = Detector(), DetectionLoss()
    scaler = torch.amp.GradScaler("cuda")
    for images, targets in DataLoader(data, num_workers=4, pin_memory=True):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss, parts = criterion(model(images), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return parts

"""A loss that casts for itself where AMP is on, and needs no cast where it is off."""

import torch
from torch.nn import functional


class Loss(torch.nn.Module):
    def __init__(self, fp16):
        super().__init__()
        self.fp16 = fp16

    def forward(self, scores, targets):
        if self.fp16:
            with torch.autocast("cuda", enabled=False):
                loss = functional.binary_cross_entropy(scores.float().sigmoid(), targets)
        else:
            loss = functional.binary_cross_entropy(scores.sigmoid(), targets)
        return loss


def train(model, optimizer, loader, fp16):
    scaler = torch.amp.GradScaler("cuda")
    criterion = Loss(fp16)
    for batch, targets in loader:
        optimizer.zero_grad()
        if fp16:
            with torch.autocast("cuda"):
                loss = criterion(model(batch), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss = criterion(model(batch), targets)
            loss.backward()
            optimizer.step()

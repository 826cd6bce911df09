"""A loss in half: `custom_fwd` that casts nothing leaves autocast as it is, and the epsilon vanishes."""

import torch
from torch import nn


class Structure(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.Conv2d(3, 3, 3)

    @torch.amp.custom_fwd(device_type="cuda")
    def forward(self, outputs, targets):
        return ((self.pool(outputs - targets) + 1e-12).sqrt()).mean()  # expect: AMP402


def train(model, optimizer, batches):
    structure = Structure().cuda()
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = structure(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

"""The values of a maximum, and of a sort, are half; one minus a clamped probability is zero by `log1p`, too."""

import torch
from torch import nn


def train(net, optimizer, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            scores = nn.functional.linear(inputs, net.weight)
            first = scores / (scores.topk(2, dim=1).values + 1e-9)  # expect: AMP402
            second = scores / (torch.relu(scores).sort(dim=1).values + 1e-8)  # expect: AMP402
            chance = scores.sigmoid().clamp(max=1 - 1e-5)  # expect: AMP402
            third = torch.log1p(-chance)
            loss = (first + second + third).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

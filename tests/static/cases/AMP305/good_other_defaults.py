"""A CPU by default computes in bfloat16; so does what the function itself makes of the device."""

import torch
import torch.nn.functional as F


def fit(model, batches, device="cpu"):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for inputs, targets in batches:
        with torch.autocast(device):
            loss = F.cross_entropy(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def chosen(model, batches, pick, device="cuda"):
    device = pick(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for inputs, targets in batches:
        with torch.autocast(device):
            loss = F.cross_entropy(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

"""The device is CUDA where a caller leaves it out, and float16 is what CUDA computes in where nothing else is said."""

import torch
import torch.nn.functional as F


def fit(model, batches, device="cuda"):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for inputs, targets in batches:
        with torch.autocast(device):  # expect: AMP305 likely
            loss = F.cross_entropy(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

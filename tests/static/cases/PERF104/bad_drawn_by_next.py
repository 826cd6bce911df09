"""A loop that counts steps and draws each batch itself."""

import torch
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, dataset, steps, device):
    loader = DataLoader(dataset, batch_size=8, num_workers=0)  # expect: PERF104
    batches = iter(loader)
    step = 0
    while step < steps:
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            continue
        inputs, targets = batch
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
        step += 1

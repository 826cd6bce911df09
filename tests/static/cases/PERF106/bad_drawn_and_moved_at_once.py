"""A pinned batch is drawn and moved in one expression, which waits."""

import torch
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, scaler):
    batches = iter(DataLoader(dataset, batch_size=8, num_workers=4, pin_memory=True))
    for _ in range(1000):
        optimizer.zero_grad()
        batch = next(batches).cuda()  # expect: PERF106
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

"""Switches that do not go together."""

import torch
from torch.cuda.amp import GradScaler, autocast


def off_and_on(model, optimizer, batches):
    scaler = GradScaler(enabled=False)  # expect: AMP303
    for batch in batches:
        with autocast():
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def two_settings(model, optimizer, batches, args):
    scaler = GradScaler(enabled=args.loss_scaling)  # expect: AMP303 likely
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

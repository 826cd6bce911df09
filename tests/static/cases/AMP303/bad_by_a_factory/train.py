"""Scalers and autocast regions that functions of the project build."""

from amp import Precision, off, region


def by_functions(model, optimizer, batches):
    scaler = off()
    for batch in batches:
        optimizer.zero_grad()
        with region():
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_methods(model, optimizer, batches, cfg, precision: Precision):
    scaler = precision.scaler(cfg)
    for batch in batches:
        optimizer.zero_grad()
        with precision.half(cfg):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

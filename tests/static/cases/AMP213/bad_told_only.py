"""Skips are counted or logged, and the schedule goes on all the same."""

import torch


def counted(model, optimizer, scheduler, scaler, loader, loss_fn):
    skipped = 0
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scale = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() < scale:
            skipped += 1
        scheduler.step()  # expect: AMP213 likely
    return skipped


def one_step(model, optimizer, scaler, inputs, targets, loss_fn):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return loss, scaler.get_scale() < scale


def told(model, optimizer, scheduler, scaler, loader, loss_fn, log):
    for inputs, targets in loader:
        loss, skipped = one_step(model, optimizer, scaler, inputs, targets, loss_fn)
        log(loss, skipped)
        scheduler.step()  # expect: AMP213 likely

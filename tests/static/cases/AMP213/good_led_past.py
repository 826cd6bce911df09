"""What is asked after the step leads past the schedule."""

import torch


def goes_on(model, optimizer, scheduler, scaler, loader, loss_fn):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scale = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() < scale:
            print("skipped")
            continue
        scheduler.step()


def one_step(model, optimizer, scaler, inputs, targets, loss_fn):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale() >= scale


def told(model, optimizer, scheduler, scaler, loader, loss_fn):
    for inputs, targets in loader:
        if one_step(model, optimizer, scaler, inputs, targets, loss_fn):
            scheduler.step()


def tried_again(model, optimizer, scheduler, scaler, loader, loss_fn):
    for inputs, targets in loader:
        stepped = False
        while not stepped:
            stepped = one_step(model, optimizer, scaler, inputs, targets, loss_fn)
        scheduler.step()

"""The scaler comes back wherever there is one: behind both ways, or not where AMP is off."""

import os

import torch


def epoch(model, optimizer, scaler, loader, loss_fn, amp):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def behind_both(model, loader, loss_fn, resume, latest, amp):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    checkpoint = None
    if resume:
        checkpoint = torch.load(resume)
        optimizer.load_state_dict(checkpoint["optimizer"])
    elif os.path.isfile(latest):
        checkpoint = torch.load(latest)
        optimizer.load_state_dict(checkpoint["optimizer"])
    if checkpoint:
        scaler.load_state_dict(checkpoint["scaler"])
    epoch(model, optimizer, scaler, loader, loss_fn, amp)
    torch.save({"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, latest)


def where_there_is_one(model, loader, loss_fn, latest, amp):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    checkpoint = torch.load(latest)
    if amp:
        optimizer.load_state_dict(checkpoint["optimizer"])
        scaler.load_state_dict(checkpoint["scaler"])
    else:
        optimizer.load_state_dict(checkpoint["optimizer"])
    epoch(model, optimizer, scaler, loader, loss_fn, amp)
    torch.save({"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, latest)

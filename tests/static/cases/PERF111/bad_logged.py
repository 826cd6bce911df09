"""The scale is only noted, in every step."""

import torch


def printed(model, criterion, optimizer, loader, writer):
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        writer.add_scalar("scale", scaler.get_scale())  # expect: PERF111


def kept_in_a_dict(model, criterion, optimizer, loader, notes):
    amp = torch.amp.GradScaler("cuda")
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        amp.scale(loss).backward()
        amp.step(optimizer)
        amp.update()
        notes[step] = amp.get_scale()  # expect: PERF111

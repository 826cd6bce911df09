"""Checks that another line, or another function, makes."""

import torch


def gradients_are_fine(model):
    return all(torch.isfinite(each.grad).all() for each in model.parameters() if each.grad is not None)


def in_a_variable(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        fine = all(torch.isfinite(each.grad).all() for each in model.parameters() if each.grad is not None)
        if fine:  # expect: AMP214
            scaler.step(optimizer)
            scaler.update()


def in_a_function(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if not gradients_are_fine(model):  # expect: AMP214
            continue
        scaler.step(optimizer)
        scaler.update()

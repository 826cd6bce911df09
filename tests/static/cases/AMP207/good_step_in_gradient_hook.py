"""Hooks that step through the scaler, or that are registered only where nothing is scaled."""

import torch


def train_through_the_scaler(model, loader):
    scaler = torch.amp.GradScaler("cuda")
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step_at_once(parameter):
        scaler.step(optimizers[parameter])
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_at_once)
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.update()


def train_fused_without_scaler(model, loader, fused):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if fused:
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

        def step_at_once(parameter):
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()

        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(step_at_once)
    for inputs, targets in loader:
        if fused:
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
        else:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

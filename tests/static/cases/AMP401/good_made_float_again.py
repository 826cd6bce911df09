"""What is trained is float32: cast where it is made, put into the parameters, or not what is half."""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(4, base.in_features, dtype=base.weight.dtype).float() / 4)
        self.up = nn.Parameter(torch.zeros(8, 4, dtype=base.weight.dtype).to(torch.float32))


class AsItsBase(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(4, base.in_features, dtype=base.weight.dtype))


def step(model, optimizer, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def cast_where_they_are_made(batches):
    model = Adapted(nn.Linear(8, 8).half().requires_grad_(False))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        step(model, optimizer, scaler, inputs, targets)


def float_data_in_what_is_trained(batches):
    model = AsItsBase(nn.Linear(8, 8).half().requires_grad_(False))
    for p in model.parameters():
        if p.requires_grad:
            p.data = p.data.to(torch.float32)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def float_data_in_a_half_model(model, batches):
    model.half()
    for p in model.parameters():
        if p.requires_grad:
            p.data = p.data.float()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def set_requires_grad(module, wanted):
    for p in module.parameters():
        p.requires_grad = wanted


def frozen_by_a_helper(net, batches):
    net.half()
    set_requires_grad(net, False)
    model = nn.Sequential(net, nn.Linear(8, 8))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

"""The dtype that is handed on is float32 or for another module, the model is made float again, or nothing scales it."""

import torch
from torch import nn


def build(kind):
    return nn.Sequential(nn.Linear(4, 4)).to(kind)


def step_all(net, optimizer, scaler, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(batch).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_float32(batches):
    net = build(torch.float32)
    step_all(net, torch.optim.AdamW(net.parameters()), torch.amp.GradScaler("cuda"), batches)


def teacher(batches):
    frozen = build(torch.float16)
    net = build(torch.float32)
    step_all(net, torch.optim.AdamW(net.parameters()), torch.amp.GradScaler("cuda"), batches)
    return frozen


def float_again(batches):
    net = build(torch.half)
    net.to(torch.float32)
    step_all(net, torch.optim.AdamW(net.parameters()), torch.amp.GradScaler("cuda"), batches)


def some_of_them(batches):
    net = build(torch.float16)
    net.requires_grad_(False)
    net.head = nn.Linear(4, 1)
    chosen = [each for each in net.parameters() if each.requires_grad]
    step_all(net, torch.optim.AdamW(chosen), torch.amp.GradScaler("cuda"), batches)

"""The switch that makes the parameters half also turns the scaler on, or leads to its step."""

import torch
from torch import nn


def switched_on(args, batches, loss_fn):
    net = nn.Linear(8, 1).cuda()
    if args.fp16:
        net = net.half()  # expect: AMP401 likely
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=args.fp16)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=args.fp16):
            loss = loss_fn(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def stepped(half, batches, loss_fn):
    net = nn.Linear(8, 1).cuda()
    if half:
        net.half()  # expect: AMP401 likely
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(net(inputs), targets)
        if half:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()

"""The parameters are half only where the scaler is not used, or for all that is known."""

import torch
from torch import nn


def either(args, batches, loss_fn):
    net = nn.Linear(8, 1).cuda()
    if args.pure_half:
        net = net.half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
            loss = loss_fn(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_place_of(amp, batches, loss_fn):
    net = nn.Linear(8, 1).cuda()
    if amp:
        print("mixed precision")
    else:
        net = net.half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_the_other_arm(half, batches, loss_fn):
    net = nn.Linear(8, 1).cuda()
    if half:
        net.half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(net(inputs), targets)
        if half:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

"""Another word is refused, is no choice, turns the region off, or is asked for by the dtype itself."""

import torch
from torch import nn


def asserted(args, net, optimizer, batches):
    assert args.precision in ("bf16", "fp16")
    kind = torch.bfloat16 if args.precision == "bf16" else torch.float16
    scaler = torch.amp.GradScaler("cuda", enabled=args.precision == "fp16")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=kind):
            loss = nn.functional.mse_loss(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def switched(args, net, optimizer, batches):
    kind = torch.bfloat16 if args.kind == "bf16" else torch.float16
    scaler = torch.amp.GradScaler("cuda", enabled=args.kind == "fp16")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=kind, enabled=args.kind in ("bf16", "fp16")):
            loss = nn.functional.mse_loss(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def by_the_dtype(args, net, optimizer, batches):
    kind = torch.bfloat16 if args.number == "bf16" else torch.float16
    scaler = torch.amp.GradScaler("cuda", enabled=kind == torch.float16)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=kind):
            loss = nn.functional.mse_loss(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def table(args, net, optimizer, batches):
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}[args.word]
    scaler = torch.amp.GradScaler("cuda", enabled=args.word == "fp16")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=kind):
            loss = nn.functional.mse_loss(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

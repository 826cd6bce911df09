"""A scaler that goes by the dtype that was asked for, and a region that is in float16 whatever that is."""

from contextlib import nullcontext

import torch


def pretrain(model, batches, optimizer, args):
    device_type = "cuda" if "cuda" in args.device else "cpu"
    context = nullcontext() if device_type == "cpu" else torch.amp.autocast("cuda")
    scaler = torch.amp.GradScaler("cuda", enabled=(args.dtype in ["float16", "bfloat16"]))  # expect: AMP303 likely
    for batch in batches:
        with context:
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def tune(model, batches, optimizer, args):
    scaler = torch.amp.GradScaler("cuda", enabled=args.dtype == "float16")  # expect: AMP303 likely
    for batch in batches:
        with torch.amp.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

"""A scaler that goes by the dtype that was asked for, and so does the region: by its dtype, or whether it is there."""

from contextlib import nullcontext

import torch


def pretrain(model, batches, optimizer, args):
    device_type = "cuda" if "cuda" in args.device else "cpu"
    dtype = torch.bfloat16 if args.dtype == "bfloat16" else torch.float16
    context = nullcontext() if device_type == "cpu" else torch.amp.autocast("cuda", dtype=dtype)
    scaler = torch.amp.GradScaler("cuda", enabled=(args.dtype == "float16"))
    for batch in batches:
        with context:
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def tune(model, batches, optimizer, args):
    context = nullcontext() if args.dtype == "float32" else torch.amp.autocast("cuda")
    scaler = torch.amp.GradScaler("cuda", enabled=args.dtype in ("float16", "half"))
    for batch in batches:
        with context:
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

"""Without the setting there is neither a scaler nor a region, or bfloat16, which needs none."""

import contextlib

import torch


def both(model, optimizer, batches, args):
    scaler = torch.amp.GradScaler("cuda") if args.amp else None
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16) if args.amp else contextlib.nullcontext():
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def by_the_dtype(model, optimizer, batches, args):
    scaler = torch.amp.GradScaler("cuda") if args.precision == "fp16" else None
    dtype = torch.float16 if args.precision == "fp16" else torch.bfloat16
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()

"""A scaler for all that is not float32."""

from contextlib import nullcontext

import torch


def train(model, batches, optimizer, args):
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[args.dtype]
    context = nullcontext() if args.dtype == "float32" else torch.autocast("cuda", dtype=dtype)
    scaler = torch.amp.GradScaler("cuda", enabled=(args.dtype != "float32"))  # expect: AMP304 likely
    for batch in batches:
        optimizer.zero_grad()
        with context:
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

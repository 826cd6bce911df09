"""That there is a dtype says that there is mixed precision, not in which half."""

import contextlib

import torch


def train(model, optimizer, batches, option):
    if option == "off":
        region_dtype = None
    elif option == "bfloat16":
        region_dtype = torch.bfloat16
    else:
        region_dtype = torch.float16
    if region_dtype is not None:
        scaler = torch.amp.GradScaler("cuda")  # expect: AMP304 likely
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=region_dtype) if region_dtype else contextlib.nullcontext():
            loss = model(batch).mean()
        if region_dtype:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def train_in_float16_alone(model, optimizer, batches, region_dtype):
    scaler = None
    if region_dtype is not None and region_dtype is not torch.bfloat16:
        scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16 if scaler is None else torch.float16):
            loss = model(batch).mean()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

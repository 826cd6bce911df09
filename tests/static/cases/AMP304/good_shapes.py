"""Scalers that are on for float16 only, or whose dtype the source does not say."""

import torch
from torch.cuda.amp import GradScaler


def by_the_dtype(model, optimizer, batches, dtype):
    types = {"float16": torch.float16, "bfloat16": torch.bfloat16}
    scaler = GradScaler(enabled=(dtype == "float16"))
    for batch in batches:
        with torch.autocast("cuda", dtype=types[dtype]):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def through_a_variable(model, optimizer, batches, args):
    dtype = torch.bfloat16 if args.bf16 else torch.float16
    needs_scale = dtype != torch.bfloat16
    scaler = GradScaler(enabled=needs_scale)
    for batch in batches:
        with torch.autocast("cuda", dtype=dtype):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def only_built_for_half(model, optimizer, batches, args):
    dtype = torch.bfloat16 if args.bf16 else torch.float16
    scaler = None
    if dtype == torch.float16:
        scaler = GradScaler()
    for batch in batches:
        with torch.autocast("cuda", dtype=dtype):
            loss = model(batch)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        optimizer.zero_grad()


def float16(model, optimizer, batches):
    scaler = GradScaler()
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def evaluated_in_bfloat16(model, batches):
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        return [model(batch) for batch in batches]


def not_said(model, optimizer, batches, dtype):
    scaler = GradScaler()
    for batch in batches:
        with torch.autocast("cuda", dtype=dtype):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def off_without_a_gpu(model, optimizer, batches):
    use_cuda = torch.cuda.is_available()
    device = "cuda" if use_cuda else "cpu"
    scaler = GradScaler(enabled=use_cuda)
    for batch in batches:
        with torch.autocast(device_type=device, enabled=use_cuda):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def switched_for_float16(model, optimizer, batches, args):
    needed = args.mixed_precision == "float16"
    scaler = torch.amp.GradScaler("cuda", enabled=needed)
    half = {"float16": torch.float16, "bfloat16": torch.bfloat16, None: torch.float32}[args.mixed_precision]
    for batch in batches:
        with torch.autocast("cuda", enabled=args.mixed_precision is not None, dtype=half):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

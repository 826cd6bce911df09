"""Switches that go together, or do no harm."""

import torch
from torch.cuda.amp import GradScaler, autocast


def step(scaler, optimizer, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def same(model, optimizer, batches, args):
    scaler = GradScaler(enabled=args.amp)
    for batch in batches:
        with autocast(enabled=args.amp):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def renamed(model, optimizer, batches, args):
    use_amp = args.fp16 and torch.cuda.is_available()
    scaler = GradScaler(enabled=use_amp)
    for batch in batches:
        with autocast(enabled=args.fp16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def narrower(model, optimizer, batches, args):
    scaling = args.mixed and args.dtype == "float16"
    dtype = torch.float16 if args.dtype == "float16" else torch.bfloat16
    scaler = GradScaler(enabled=scaling)
    for batch in batches:
        with autocast(enabled=args.mixed, dtype=dtype):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def off_in_bfloat16(model, optimizer, batches):
    scaler = GradScaler(enabled=False)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def scales_by_the_same_setting(model, optimizer, batches, args):
    scaler = GradScaler()
    for batch in batches:
        with autocast(enabled=args.amp):
            loss = model(batch)
        if args.amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        optimizer.zero_grad()


def off_where_there_is_no_gpu(model, optimizer, batches, device):
    scaler = GradScaler()
    if device == "cpu":
        scaler = GradScaler(enabled=False)
    for batch in batches:
        with autocast():
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def island_in_a_region(model, loss_fn, optimizer, batches):
    scaler = GradScaler()
    for batch in batches:
        with autocast():
            output = model(batch)
        with autocast(enabled=False):
            loss = loss_fn(output.float())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def by_a_table_of_settings(model, optimizer, batches, precision):
    """Not every key is a text."""
    scaler = GradScaler(enabled={16: True, "32": False}[precision])
    for batch in batches:
        with autocast():
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def by_a_table_with_more(model, optimizer, batches, precision, more):
    scaler = GradScaler(enabled={"32": False, **more}[precision])
    for batch in batches:
        with autocast():
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

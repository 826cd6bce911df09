"""Regions for any device whose scaler is, too, or that are off elsewhere; switches that are settled before both."""

import torch

ANY = ("cuda", "mps", "xpu")


def same_device(model, optimizer, batches, device):
    scaler = torch.amp.GradScaler(device.type)
    for batch in batches:
        with torch.autocast(device.type, dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def off_elsewhere(model, optimizer, batches, device):
    half = device.type == "cuda"
    scaler = torch.amp.GradScaler("cuda", enabled=half)
    for batch in batches:
        with torch.autocast(device.type, dtype=torch.float16, enabled=half):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def led_to_the_cpu(model, optimizer, batches, device):
    scaler = torch.amp.GradScaler("cuda")
    kind = device.split(":")[0]
    kind = "cpu" if kind == "mps" else kind
    for batch in batches:
        with torch.autocast(kind):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def two_kinds(model, optimizer, batches):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast(device):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def settled_first(model, optimizer, batches, settings):
    half = settings.half
    if settings.device == "cpu":
        half = False
    scaler = torch.amp.GradScaler("cuda", enabled=half)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16, enabled=half):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    half = False
    print(half)


def make_scaler(version):
    """One for each accelerator."""
    if torch.backends.mps.is_available():
        return torch.amp.GradScaler("mps")
    if torch.xpu.is_available():
        return torch.amp.GradScaler(device="xpu")
    if version >= (2, 3):
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()


def one_for_each(model, optimizer, batches, device, version):
    scaler = make_scaler(version)
    for batch in batches:
        with torch.autocast(device.type, dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def as_told(model, optimizer, batches, device, **options):
    scaler = torch.amp.GradScaler(**options)
    for batch in batches:
        with torch.autocast(device.type, dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

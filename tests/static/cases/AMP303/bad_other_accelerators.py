"""The region goes where the model is, the scaler is for CUDA; and this program knows of other accelerators."""

import torch


def pick():
    return "mps" if torch.backends.mps.is_available() else "cuda"


def train(model, optimizer, batches):
    scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        with torch.autocast(device_type=model.device.type):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def told(model, optimizer, batches, device):
    scaler = torch.amp.GradScaler("cuda")
    kind = torch.device(device).type
    for batch in batches:
        with torch.autocast(kind, dtype=torch.float16):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def make_scaler(version):
    """Two for CUDA, by the version: the region is told of once."""
    if version >= (2, 3):
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()


def by_version(model, optimizer, batches, device, version):
    scaler = make_scaler(version)
    for batch in batches:
        with torch.autocast(device.type, dtype=torch.float16):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def one_of_two(model, optimizer, batches, device, on_npu):
    """There is one for each of some, and none for what `pick` may choose."""
    scaler = torch.npu.amp.GradScaler() if on_npu else torch.cuda.amp.GradScaler()
    for batch in batches:
        with torch.autocast(device.type, dtype=torch.float16):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def where_a_build_fails(model, optimizer, batches, settings):
    try:
        scaler = settings.build_scaler()
    except RuntimeError:
        scaler = torch.cuda.amp.GradScaler()
    for batch in batches:
        with torch.autocast(device_type=model.device.type):  # expect: AMP303 likely
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

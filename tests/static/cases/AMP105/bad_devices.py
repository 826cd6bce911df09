"""Regions for a device type on which the tensors are not, or not always."""

import torch
from torch.cuda.amp import autocast


def fixed_to_the_cpu(model, loss_fn, batches):
    model.to("cpu")
    for inputs, targets in batches:
        inputs = inputs.to("cpu")
        with autocast():  # expect: AMP105
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def cpu_region_over_cuda_tensors(model, loss_fn, batches, use_amp):
    model = model.cuda()
    for inputs, targets in batches:
        inputs, targets = inputs.cuda(), targets.cuda()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=use_amp):  # expect: AMP105
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def apple_fallback(model, loss_fn, batches):
    device = torch.device("cuda" if torch.cuda.is_available() else "mps")
    model = model.to(device)
    for inputs, targets in batches:
        inputs = inputs.to(device)
        with torch.autocast(device_type="cuda"):  # expect: AMP105 likely
            loss = loss_fn(model(inputs), targets.to(device))
        loss.backward()


def longer_fallback(model, loss_fn, batches):
    if torch.cuda.is_available():
        where = "cuda"
    elif torch.backends.mps.is_available():
        where = "mps"
    else:
        where = "cpu"
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP105 likely
            loss = loss_fn(model(inputs.to(where)), targets.to(where))
        loss.backward()


def mapped_to_the_cpu(model, loss_fn, batches, device, mixed_precision):
    kind = device.split(":")[0]
    kind = "cpu" if kind == "mps" else kind
    for inputs, targets in batches:
        with torch.autocast(device_type=kind, enabled=mixed_precision):  # expect: AMP105 likely
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def a_device_asked_for_text(model, loss_fn, batches, name):
    device = torch.device(name)
    where = "cuda" if device == "cuda" else "cpu"
    for inputs, targets in batches:
        with torch.autocast(device_type=where):  # expect: AMP105 likely
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()

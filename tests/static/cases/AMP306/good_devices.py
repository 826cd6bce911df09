"""Scalers for the device of the region, of a device that may be CUDA, and bfloat16."""

import torch
from torch.amp import GradScaler


def same_device(model, opt, batches):
    scaler = GradScaler("cpu")
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def may_be_cuda(model, opt, batches):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scaler = GradScaler()
    for batch in batches:
        opt.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def from_outside(model, opt, batches, device):
    scaler = GradScaler()
    for batch in batches:
        opt.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def in_bfloat16(model, opt, batches):
    scaler = GradScaler()
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()

"""Scalers that are off for bfloat16, on a CPU, or over float32 weights."""

import torch
from torch import nn
from torch.amp import GradScaler


def autocast_only(batches):
    net = nn.Linear(4, 1).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler()
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def off(batches):
    net = nn.Linear(4, 1).cuda().bfloat16()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler(enabled=False)
    for batch in batches:
        opt.zero_grad()
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()


def chosen(batches, dtype_name):
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[dtype_name]
    net = nn.Linear(4, 1).to("cuda", dtype=dtype)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler(enabled=dtype_name == "fp16")
    for batch in batches:
        opt.zero_grad()
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()


def on_a_cpu(batches):
    net = nn.Linear(4, 1).bfloat16()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler("cpu")
    for batch in batches:
        opt.zero_grad()
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()


def teacher_in_bfloat16(batches):
    teacher = nn.Linear(4, 1).cuda().bfloat16()
    net = nn.Linear(4, 1).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler()
    for batch in batches:
        opt.zero_grad()
        scaler.scale((net(batch) - teacher(batch)).mean()).backward()
        scaler.step(opt)
        scaler.update()

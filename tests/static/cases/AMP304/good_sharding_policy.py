"""Scalers that are off, or for float16, beside models that FSDP runs by a policy."""

import torch
from torch import nn
from torch.amp import GradScaler
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def off(batches, mesh):
    net = nn.Linear(4, 1)
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler(enabled=False)
    for batch in batches:
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def chosen(batches, mesh, precision):
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[precision]
    net = nn.Linear(4, 1)
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(dtype, torch.float32))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler(enabled=dtype == torch.float16)
    for batch in batches:
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def under_autocast(batches, mesh):
    """The region decides, inside the model's own forward."""
    net = nn.Linear(4, 1)
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float32))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler()
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()

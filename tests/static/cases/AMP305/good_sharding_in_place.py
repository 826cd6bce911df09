"""Models that `fully_shard` has compute in bfloat16, or in float16 with a scaler."""

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def bfloat16(batches, mesh):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for inputs in batches:
        net(inputs).mean().backward()
        opt.step()
        opt.zero_grad()


def scaled(batches, mesh):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.float16))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler()
    for inputs in batches:
        scaler.scale(net(inputs).mean()).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()

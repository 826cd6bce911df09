"""Scalers beside models that FSDP runs in bfloat16 by a policy."""

import torch
from torch import nn
from torch.amp import GradScaler
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


def in_place(batches, mesh):
    net = nn.Linear(4, 1)
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = GradScaler()  # expect: AMP304
    for batch in batches:
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()


def wrapped(module, policy):
    return FullyShardedDataParallel(module, mixed_precision=policy)


def over_functions(batches):
    net = wrapped(nn.Linear(4, 1), MixedPrecision(param_dtype=torch.bfloat16))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = ShardedGradScaler()  # expect: AMP304 likely
    for batch in batches:
        scaler.scale(net(batch).mean()).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()

"""Models with half weights that are sharded by a policy, and trained."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, fully_shard


def net_of(size):
    return nn.Sequential(nn.Linear(size, size), nn.Linear(size, 1))


def in_place(batches, mesh):
    net = net_of(8).to(torch.bfloat16)
    fully_shard(net, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))  # expect: AMP802
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def wrapped(batches):
    net = net_of(8).half()
    model = FSDP(net, mixed_precision=MixedPrecision(param_dtype=torch.float16))  # expect: AMP802
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    for batch in batches:
        model(batch).mean().backward()
        opt.step()
        opt.zero_grad()


def sharded(network, policy):
    for part in network:
        fully_shard(part, mp_policy=policy)
    fully_shard(network, mp_policy=policy)  # expect: AMP802
    return network


def over_functions(batches):
    net = sharded(net_of(8).bfloat16(), MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()

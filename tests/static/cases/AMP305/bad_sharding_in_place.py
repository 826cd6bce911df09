"""Models that `fully_shard` has compute in float16, layer by layer, and whose loss is not scaled."""

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def one_by_one(batches, mesh):
    policy = MixedPrecisionPolicy(torch.float16, torch.float32)  # expect: AMP305 likely
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    for part in (net[0], net):
        fully_shard(part, mesh=mesh, mp_policy=policy)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for inputs in batches:
        net(inputs).mean().backward()
        opt.step()
        opt.zero_grad()


def shard(network, mesh):
    options = {"mesh": mesh, "mp_policy": MixedPrecisionPolicy(param_dtype=torch.half)}  # expect: AMP305 likely
    for layer in network:
        fully_shard(layer, **options)
    fully_shard(network, **options)
    return network


def by_options(batches, mesh):
    net = shard(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)), mesh)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for inputs in batches:
        output = net(inputs)
        output.mean().backward()
        opt.step()
        opt.zero_grad()

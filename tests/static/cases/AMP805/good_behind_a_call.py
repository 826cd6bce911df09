"""A function of the project shards another model, or shards before the optimizer is built."""

import torch
from torch.distributed.fsdp import fully_shard


def spread(net, mesh):
    fully_shard(net, mesh=mesh)


def train(net, teacher, batches, mesh):
    spread(net, mesh)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    spread(teacher, mesh)
    for batch in batches:
        (net(batch) - teacher(batch)).mean().backward()
        opt.step()

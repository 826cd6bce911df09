"""A function of the project shards what it is given."""

import torch
from torch.distributed.fsdp import fully_shard


def spread(net, mesh):
    for layer in net:
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)


def train(net, batches, mesh):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)  # expect: AMP805 likely
    spread(net, mesh)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()

"""Optimizers that are built before their models are sharded."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def in_place(net, batches):
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)  # expect: AMP805
    fully_shard(net)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def layer_by_layer(batches, mesh):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    groups = [{"params": net.parameters(), "weight_decay": 0.1}]
    opt = torch.optim.AdamW(groups, lr=0.1)  # expect: AMP805
    for part in (net[0], net[1], net):
        fully_shard(part, mesh=mesh)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


class Trainer:
    def __init__(self, net):
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)  # expect: AMP805
        self.model = FSDP(net)


def if_asked(net, shard):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)  # expect: AMP805 likely
    if shard:
        fully_shard(net)
    return net, opt

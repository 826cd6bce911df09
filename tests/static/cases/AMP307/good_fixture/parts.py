"""What trainings are made of; sharded only where that is asked for."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel


def make_parts(net, shard=False):
    if shard:
        net = FullyShardedDataParallel(net)
    return net, torch.optim.AdamW(net.parameters())
